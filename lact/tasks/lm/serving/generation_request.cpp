#include "lact/tasks/lm/serving/generation_request.h"

#include <algorithm>
#include <random>

#include "lact/base/json_text.h"
#include "lact/data/text/utf8.h"

namespace lact::tasks::lm {

namespace {

constexpr size_t kMostStops = 16, kLongestStop = 1000;
constexpr int64_t kMostTopLogprobs = 100;

/// A request that names no seed gets another text each time.
int64_t drawn_seed() {
  static thread_local std::random_device source;
  return int64_t(source() & 0x7fffffffU);
}

std::vector<std::string> parse_stops(const ApiJson* value) {
  std::vector<std::string> stops;
  if (value == nullptr) return stops;
  if (value->is_string()) {
    stops.push_back(value->get<std::string>());
  } else {
    if (!value->is_array())
      refuse_request(400, "stop is {}, expected a string or a list", shown_json(*value));
    for (const ApiJson& each : *value) {
      if (!each.is_string()) refuse_request(400, "stop holds {}, expected strings", shown_json(each));
      stops.push_back(each.get<std::string>());
    }
  }
  const bool fits =
      stops.size() <= kMostStops && std::all_of(stops.begin(), stops.end(), [](const auto& each) {
        return !each.empty() && each.size() <= kLongestStop;
      });
  if (!fits) {
    refuse_request(400, "stop has to be at most {} texts of 1 to {} bytes", kMostStops, kLongestStop);
  }
  return stops;
}

bool is_token_list(const ApiJson& value) {
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(), [](const ApiJson& each) { return each.is_number(); });
}

Prompt parse_prompt(const ApiJson& value, const GenerationLimits& limits) {
  Prompt prompt;
  if (value.is_string()) {
    prompt.text = value.get<std::string>();
    return prompt;
  }
  if (!is_token_list(value)) {
    refuse_request(400, "prompt is {}, expected a string or a list of tokens", shown_json(value));
  }
  prompt.is_text = false;
  prompt.tokens = parse_token_list(value, "prompt", limits.vocabulary_size);
  return prompt;
}

/// "a", [1, 2], ["a", "b"] or [[1, 2], "b"]
std::vector<Prompt> parse_prompts(const ApiJson* value, const GenerationLimits& limits) {
  if (value == nullptr) refuse_request(400, "the request has no \"prompt\"");
  if (!value->is_array() || is_token_list(*value)) return {parse_prompt(*value, limits)};
  if (value->empty()) return {Prompt{}};
  if (int64_t(value->size()) > limits.max_choices) {
    refuse_request(400, "prompt has {} texts, expected at most {}", value->size(), limits.max_choices);
  }
  std::vector<Prompt> prompts;
  for (const ApiJson& each : *value) prompts.push_back(parse_prompt(each, limits));
  return prompts;
}

/// The fields that all dialects share.
void read_common(RequestFields& fields, GenerationRequest& request, const GenerationLimits& limits) {
  auto& sampling = request.options.sampling;
  sampling.temperature = fields.real("temperature", sampling.temperature, 0, 1000);
  sampling.top_k = std::max<int64_t>(0, fields.whole("top_k", sampling.top_k, -1, 1 << 30));
  sampling.top_p = fields.real("top_p", sampling.top_p, 1e-9, 1);
  for (const char* name : {"repeat_penalty", "repetition_penalty"}) {
    sampling.repetition_penalty = fields.real(name, sampling.repetition_penalty, 0.01, 100);
  }
  for (const char* name : {"repeat_last_n", "penalty_window"}) {
    sampling.penalty_window = fields.whole(name, sampling.penalty_window, 0, 1 << 20);
  }
  const int64_t seed = fields.whole("seed", -1, INT64_MIN, INT64_MAX);
  sampling.seed = seed == -1 ? drawn_seed() : seed;
  for (const char* name : {"ignore_eos", "ignore_end"}) {
    request.options.ignore_end = fields.flag(name, request.options.ignore_end);
  }
  for (auto& each : parse_stops(fields.find("stop"))) request.options.stop.push_back(std::move(each));
  request.stream = fields.flag("stream", false);
  request.cache_prompt = fields.flag("cache_prompt", true);
  request.slot = fields.whole("id_slot", -1, -1, 1 << 20);
  request.memory = fields.text("memory");
  request.save_memory = fields.text("save_memory");
  request.return_progress = fields.flag("return_progress", false);
  request.timings_per_token = fields.flag("timings_per_token", false);
  request.return_tokens = fields.flag("return_tokens", false);
  // Samplers of llama.cpp that do not exist here may be sent with the values that switch them off.
  for (const char* name : {"min_p", "frequency_penalty", "presence_penalty", "mirostat", "dynatemp_range",
                           "dry_multiplier", "xtc_probability", "n_indent", "min_keep", "t_max_predict_ms"}) {
    fields.without(name, {0});
  }
  fields.without("typical_p", {1});
  fields.without("logit_bias", {ApiJson::object(), ApiJson::array()});
  for (const char* name : {"grammar", "json_schema", "samplers", "lora", "response_fields"}) {
    fields.without(name, {"", ApiJson::array()});
  }
  fields.without("post_sampling_probs", {false});
  fields.ignore({"model", "user", "n_keep", "n_discard", "dynatemp_exponent", "mirostat_tau", "mirostat_eta",
                 "dry_base", "dry_allowed_length", "dry_penalty_last_n", "dry_sequence_breakers",
                 "xtc_threshold"});
}

int64_t parse_max_tokens(RequestFields& fields, std::initializer_list<const char*> names,
                         const GenerationLimits& limits) {
  int64_t tokens = -1;
  for (const char* name : names) {
    const int64_t given = fields.whole(name, -1, -1, limits.max_tokens);
    if (given >= 0) tokens = given;
  }
  return tokens < 0 ? limits.max_tokens : tokens;
}

void read_native(RequestFields& fields, GenerationRequest& request, const GenerationLimits& limits) {
  request.prompts = parse_prompts(fields.find("prompt"), limits);
  request.options.max_tokens = parse_max_tokens(fields, {"max_tokens", "n_predict"}, limits);
  request.choices = fields.whole("n", 1, 1, limits.max_choices);
  request.top_logprobs = fields.whole("n_probs", 0, 0, kMostTopLogprobs);
  if (request.top_logprobs == 0) request.top_logprobs = -1;
  fields.without("image_data", {ApiJson::array()});
}

/// What both of OpenAI's requests know.
void read_openai(RequestFields& fields, GenerationRequest& request, const GenerationLimits& limits) {
  request.choices = fields.whole("n", 1, 1, limits.max_choices);
  if (const ApiJson* value = fields.find("stream_options")) {
    RequestFields inner(*value, "stream_options");
    request.include_usage = inner.flag("include_usage", false);
    inner.ignore({"include_obfuscation"});
    inner.finish();
  }
  fields.ignore({"metadata", "safety_identifier", "prompt_cache_key"});
}

void read_completions(RequestFields& fields, GenerationRequest& request, const GenerationLimits& limits) {
  request.prompts = parse_prompts(fields.find("prompt"), limits);
  request.options.max_tokens = parse_max_tokens(fields, {"n_predict", "max_tokens"}, limits);
  request.echo = fields.flag("echo", false);
  request.top_logprobs = fields.whole("logprobs", -1, 0, kMostTopLogprobs);
  if (request.echo && request.top_logprobs >= 0) {
    refuse_request(400, "echo and logprobs cannot be together: a prompt has no probabilities here");
  }
  fields.without("suffix", {""});
  fields.without("best_of", {1});
}

void read_chat(RequestFields& fields, GenerationRequest& request, const GenerationLimits& limits,
               const ChatTemplate& form) {
  const ApiJson* messages = fields.find("messages");
  if (messages == nullptr) refuse_request(400, "the request has no \"messages\"");
  const bool with_reply = fields.flag("add_generation_prompt", true);
  request.prompts = {{form.apply(parse_messages(*messages), with_reply), {}, true}};
  request.options.stop = form.stop;
  request.options.max_tokens =
      parse_max_tokens(fields, {"n_predict", "max_tokens", "max_completion_tokens"}, limits);
  const bool logprobs = fields.flag("logprobs", false);
  const int64_t top = fields.whole("top_logprobs", 0, 0, kMostTopLogprobs);
  if (top > 0 && !logprobs) refuse_request(400, "top_logprobs needs \"logprobs\": true");
  request.top_logprobs = logprobs ? top : -1;
  for (const char* name : {"tools", "functions"}) fields.without(name, {ApiJson::array()});
  for (const char* name : {"tool_choice", "function_call"}) fields.without(name, {"none", "auto"});
  fields.without("response_format", {ApiJson::object({{"type", "text"}})});
  fields.without("modalities", {ApiJson::array({"text"})});
  fields.without("store", {false});
  fields.without("service_tier", {"auto", "default"});
  for (const char* name : {"audio", "prediction", "reasoning_effort", "verbosity", "web_search_options"}) {
    fields.without(name, {});
  }
  fields.ignore({"parallel_tool_calls"});
}

/// Bytes that are no text would be read as something else.
void check_prompt(const Prompt& prompt) {
  if (const auto place = data::find_invalid_utf8(prompt.text)) {
    refuse_request(400, "the prompt is not UTF-8 at byte {}", *place);
  }
}

}  // namespace

std::vector<int64_t> parse_token_list(const ApiJson& list, const std::string& name, int64_t vocabulary_size) {
  if (!list.is_array()) refuse_request(400, "{} is {}, expected a list of tokens", name, shown_json(list));
  std::vector<int64_t> tokens;
  for (const ApiJson& each : list) {
    if (!each.is_number_integer() || each < 0 || each >= vocabulary_size) {
      refuse_request(400, "{} holds {}, expected tokens from 0 to {}", name, shown_json(each),
                     vocabulary_size - 1);
    }
    tokens.push_back(each.get<int64_t>());
  }
  return tokens;
}

GenerationRequest parse_generation(Dialect dialect, const ApiJson& body, const GenerationLimits& limits,
                                   const ChatTemplate& form) {
  RequestFields fields(body, "the request");
  GenerationRequest request;
  request.dialect = dialect;
  if (dialect == Dialect::native) {
    read_native(fields, request, limits);
  } else {
    read_openai(fields, request, limits);
    if (dialect == Dialect::completions) {
      read_completions(fields, request, limits);
    } else {
      read_chat(fields, request, limits, form);
    }
  }
  read_common(fields, request, limits);
  fields.finish();
  const int64_t texts = request.choices * int64_t(request.prompts.size());
  if (texts > limits.max_choices) {
    refuse_request(400, "the request asks for {} texts, expected at most {}", texts, limits.max_choices);
  }
  if (texts > 1 && !request.save_memory.empty()) {
    refuse_request(400, "save_memory is for one text, but the request asks for {}", texts);
  }
  if (texts > 1 && request.slot >= 0) {
    refuse_request(400, "id_slot is for one text, but the request asks for {}", texts);
  }
  for (const auto& prompt : request.prompts) check_prompt(prompt);
  return request;
}

ApiJson generation_settings(const models::GenerateOptions& options) {
  const auto& sampling = options.sampling;
  return {{"n_predict", options.max_tokens},
          {"temperature", sampling.temperature},
          {"top_k", sampling.top_k},
          {"top_p", sampling.top_p},
          {"repeat_penalty", sampling.repetition_penalty},
          {"repeat_last_n", sampling.penalty_window},
          {"seed", sampling.seed},
          {"stop", options.stop},
          {"ignore_eos", options.ignore_end}};
}

ApiJson default_generation_settings(const GenerationLimits& limits) {
  models::GenerateOptions options;
  options.max_tokens = limits.max_tokens;
  ApiJson settings = generation_settings(options);
  settings["seed"] = -1;
  return settings;
}

}  // namespace lact::tasks::lm
