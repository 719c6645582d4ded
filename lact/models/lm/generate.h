// Writes text: reads a prompt, then draws token after token until a limit, an end or a stop string.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lact/models/lm/sampling.h"
#include "lact/models/lm/stream.h"

namespace lact::models {

struct GenerateOptions {
  int64_t max_tokens = 256;
  SamplingOptions sampling;
  std::vector<std::string> stop;
  bool ignore_end = false;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("max_tokens", max_tokens, "tokens to write at most");
    field("sampling", sampling, "how a token is chosen");
    field("stop", stop, "stop before this text; may be given repeatedly");
    field("ignore_end", ignore_end, "go on after the end-of-text token");
  }
  bool operator==(const GenerateOptions&) const = default;

  void check() const;
};

enum class StopReason { length, end_of_text, stop_string };
constexpr std::array<std::pair<StopReason, std::string_view>, 3> enum_names(StopReason) {
  return {{{StopReason::length, "length"},
           {StopReason::end_of_text, "end_of_text"},
           {StopReason::stop_string, "stop_string"}}};
}

/// What generation needs to know of a tokenizer.
struct Vocabulary {
  int64_t end_of_text = -1;  ///< -1: none
  std::function<std::string(int64_t token)> bytes;
};

struct Generated {
  std::vector<int64_t> tokens;
  std::string bytes;  ///< without the stop string
  StopReason reason = StopReason::length;
  int64_t prompt_tokens = 0;
  double prefill_seconds = 0, tokens_per_second = 0;
};

/// `on_bytes` gets the bytes of the text as soon as they cannot become part of a stop string. The stream has
/// read everything afterwards but the last token drawn.
Generated generate(LmStream& stream, std::span<const int64_t> prompt, const GenerateOptions& options,
                   const Vocabulary& vocabulary, const std::function<void(const std::string&)>& on_bytes);

}  // namespace lact::models
