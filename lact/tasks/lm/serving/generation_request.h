// What a client asks to be written, the same for all three ways of asking:
//   /completion            llama.cpp's own
//   /v1/completions        OpenAI's
//   /v1/chat/completions   OpenAI's, with messages
// A field that is unknown, or known elsewhere and not supported here, is refused unless it has no effect.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lact/models/lm/generate.h"
#include "lact/tasks/lm/serving/api_error.h"
#include "lact/tasks/lm/serving/chat_template.h"
#include "lact/tasks/lm/serving/request_fields.h"

namespace lact::tasks::lm {

enum class Dialect { native, completions, chat };

/// A text, or tokens as a client knows them from /tokenize.
struct Prompt {
  std::string text;
  std::vector<int64_t> tokens;
  bool is_text = true;
};

struct GenerationRequest {
  Dialect dialect = Dialect::native;
  std::vector<Prompt> prompts;
  int64_t choices = 1;  ///< of each prompt
  models::GenerateOptions options;
  int64_t top_logprobs = -1;  ///< -1: no probabilities; n: of the n likeliest tokens, too
  int64_t slot = -1;
  std::string memory;       ///< continues from this one; "": from nothing
  std::string save_memory;  ///< what is remembered afterwards is kept under this name
  bool cache_prompt = true;
  bool stream = false, include_usage = false, return_progress = false, timings_per_token = false;
  bool return_tokens = false, echo = false;
};

struct GenerationLimits {
  int64_t max_tokens = 4096;  ///< of one text; also what is written where nothing is said
  int64_t max_choices = 16;   ///< prompts times choices
  int64_t vocabulary_size = 0;
};

GenerationRequest parse_generation(Dialect dialect, const ApiJson& body, const GenerationLimits& limits,
                                   const ChatTemplate& form);

/// What /props tells of a request that says nothing.
ApiJson default_generation_settings(const GenerationLimits& limits);
/// In llama.cpp's words.
ApiJson generation_settings(const models::GenerateOptions& options);

/// "the request"'s list of token numbers of a vocabulary.
std::vector<int64_t> parse_token_list(const ApiJson& list, const std::string& name, int64_t vocabulary_size);

}  // namespace lact::tasks::lm
