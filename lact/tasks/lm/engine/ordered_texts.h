// Several texts written at once and shown one after the other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lact/tasks/lm/engine/engine.h"

namespace lact::tasks::lm {

struct ShownText {
  std::function<void(size_t text, const std::string& bytes)> wrote;
  std::function<void(size_t text, const TextOutcome& outcome)> finished;
};

/// Returns when all are finished. The functions are called on this thread, in the order of the requests: the
/// first text is shown as it is written, the next from when the one before has ended. Throws the sentence of
/// a text that fails, and cancels those behind it.
void write_in_order(Engine& engine, std::vector<TextRequest> requests, const ShownText& show);

}  // namespace lact::tasks::lm
