// What the routes of the server share.
#pragma once

#include <optional>
#include <string>

#include "lact/tasks/lm/engine/engine.h"
#include "lact/tasks/lm/serving/chat_template.h"
#include "lact/tasks/lm/serving/generation_request.h"
#include "lact/tasks/lm/serving/long_answers.h"
#include "lact/tasks/lm/serving/memory_shelf.h"
#include "lact/tasks/lm/serving/serving_options.h"
#include "lact/tasks/lm/serving/work_queue.h"

namespace lact::tasks::lm {

struct ServingParts {
  ServingParts(Loaded loaded, std::optional<Loaded> draft, const ServingOptions& serving);
  /// In the order in which they need each other: nobody asks an engine that is no more.
  ~ServingParts();

  const ServingOptions options;
  const Loaded lm;
  const ChatTemplate chat;
  const GenerationLimits limits;
  const std::string model_name;
  const int64_t started;  ///< seconds since 1970
  MemoryShelf shelf;
  WorkQueue work;
  LongAnswers long_answers;
  std::optional<Engine> engine_place;  ///< a place, so that it can end before the others
  Engine& engine;
};

/// The tokens of a text that stands at the beginning, or follows something.
std::vector<int64_t> encoded(const Loaded& lm, const std::string& text, bool continues);

}  // namespace lact::tasks::lm
