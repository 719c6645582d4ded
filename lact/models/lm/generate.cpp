#include "lact/models/lm/generate.h"

#include <chrono>

#include "lact/base/error.h"
#include "lact/models/lm/stop_strings.h"

namespace lact::models {

void GenerateOptions::check() const {
  LACT_CHECK(max_tokens >= 0, "[generate] max_tokens is {}, expected 0 or more", max_tokens);
  for (const auto& text : stop) LACT_CHECK(!text.empty(), "[generate] a stop string is empty");
  sampling.check();
}

Generated generate(LmStream& stream, std::span<const int64_t> prompt, const GenerateOptions& options,
                   const Vocabulary& vocabulary, const std::function<void(const std::string&)>& on_bytes) {
  options.check();
  using Clock = std::chrono::steady_clock;
  const auto seconds = [](Clock::time_point since) {
    return std::chrono::duration<double>(Clock::now() - since).count();
  };
  Sampler sampler(options.sampling);
  Generated result;
  const auto start = Clock::now();
  stream.read(prompt);
  result.prompt_tokens = int64_t(prompt.size());
  result.prefill_seconds = seconds(start);
  for (const int64_t token : prompt) sampler.note(token);

  StopStringFilter filter(options.stop);
  const auto began = Clock::now();
  while (int64_t(result.tokens.size()) < options.max_tokens) {
    const int64_t token = sampler.draw(stream.next_logits());
    if (token == vocabulary.end_of_text && !options.ignore_end) {
      result.reason = StopReason::end_of_text;
      break;
    }
    result.tokens.push_back(token);
    sampler.note(token);
    const bool stopped = filter.add(vocabulary.bytes(token));
    if (const std::string certain = filter.take(stopped); !certain.empty()) on_bytes(certain);
    if (stopped) {
      result.reason = StopReason::stop_string;
      break;
    }
    stream.read({&token, 1});
  }
  if (const std::string rest = filter.take(true); !rest.empty()) on_bytes(rest);
  result.bytes = filter.text();
  result.tokens_per_second = double(result.tokens.size()) / std::max(1e-9, seconds(began));
  return result;
}

}  // namespace lact::models
