#include "lact/models/lm/generate.h"

#include <chrono>

#include "lact/base/error.h"

namespace lact::models {

namespace {

/// Holds back what may still become a stop string.
class StopStringFilter {
 public:
  StopStringFilter(const std::vector<std::string>& stops, std::string& text) : stops_(stops), text_(text) {}

  /// True if a stop string is complete; the text then ends before it.
  bool add(const std::string& bytes) {
    text_ += bytes;
    size_t first = std::string::npos;
    for (const auto& stop : stops_) first = std::min(first, text_.find(stop, passed_));
    if (first == std::string::npos) return false;
    text_.resize(first);
    return true;
  }

  /// What is certain by now.
  std::string take(bool last) {
    size_t end = text_.size();
    if (!last) {
      for (const auto& stop : stops_) end = std::min(end, text_.size() - overlap(stop));
    }
    const std::string certain = end > passed_ ? text_.substr(passed_, end - passed_) : "";
    passed_ = std::max(passed_, end);
    return certain;
  }

 private:
  /// The longest beginning of `stop` that the text ends with.
  size_t overlap(const std::string& stop) const {
    for (size_t length = std::min(stop.size() - 1, text_.size() - passed_); length > 0; --length) {
      if (std::string_view(text_).substr(text_.size() - length) == std::string_view(stop).substr(0, length)) {
        return length;
      }
    }
    return 0;
  }

  const std::vector<std::string>& stops_;
  std::string& text_;
  size_t passed_ = 0;
};

}  // namespace

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

  StopStringFilter filter(options.stop, result.bytes);
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
  result.tokens_per_second = double(result.tokens.size()) / std::max(1e-9, seconds(began));
  return result;
}

}  // namespace lact::models
