// Texts of an engine, waited for.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "lact/data/text/tokenizer.h"
#include "lact/models/lm/folder.h"
#include "lact/tasks/lm/engine/engine.h"
#include "support/tiny_lm.h"

namespace lact::testing {

inline tasks::lm::Loaded loaded_lm(const models::LmConfig& config, uint64_t seed = 3) {
  tasks::lm::Loaded lm;
  lm.path = "tiny";
  lm.model = make_lm(config, seed);
  lm.tokenizer = data::byte_tokenizer();
  lm.fingerprint = models::fingerprint(*lm.model);
  return lm;
}

inline std::vector<int64_t> random_tokens(int64_t count) {
  const at::Tensor ids = random_ids(1, count);
  return {ids.data_ptr<int64_t>(), ids.data_ptr<int64_t>() + count};
}

inline models::GenerateOptions greedy(int64_t tokens) {
  models::GenerateOptions options;
  options.max_tokens = tokens;
  options.sampling.temperature = 0;
  options.ignore_end = true;
  return options;
}

inline tasks::lm::TextState state_after(const tasks::lm::Loaded& lm, std::span<const int64_t> tokens) {
  models::LmStream stream(lm.model);
  stream.read(tokens);
  return tasks::lm::snapshot(stream, lm);
}

/// What one text told until it was finished.
struct ToldText {
  std::string bytes;
  std::vector<tasks::lm::WrittenToken> written;
  int64_t times_finished = 0;
  tasks::lm::TextOutcome outcome;
  std::promise<void> done;

  std::vector<int64_t> tokens() const {
    std::vector<int64_t> all;
    for (const auto& each : written) all.push_back(each.token);
    return all;
  }
};

inline std::shared_ptr<ToldText> submit(tasks::lm::Engine& engine, tasks::lm::TextRequest request,
                                        tasks::lm::Engine::Ticket* ticket = nullptr) {
  const auto told = std::make_shared<ToldText>();
  tasks::lm::TextEvents events;
  events.wrote = [told](const std::string& bytes, std::span<const tasks::lm::WrittenToken> tokens) {
    told->bytes += bytes;
    told->written.insert(told->written.end(), tokens.begin(), tokens.end());
  };
  events.finished = [told](const tasks::lm::TextOutcome& outcome) {
    told->outcome = outcome;
    if (++told->times_finished == 1) told->done.set_value();
  };
  const auto given = engine.submit(std::move(request), std::move(events));
  if (ticket != nullptr) *ticket = given;
  return told;
}

inline void wait_for(const std::shared_ptr<ToldText>& text) { text->done.get_future().wait(); }

/// One text from its beginning to its end.
inline std::shared_ptr<ToldText> run_text(tasks::lm::Engine& engine, tasks::lm::TextRequest request) {
  const auto text = submit(engine, std::move(request));
  wait_for(text);
  return text;
}

}  // namespace lact::testing
