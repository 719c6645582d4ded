#include "lact/tasks/lm/serving/chat_template.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "lact/base/error.h"
#include "lact/base/json_text.h"
#include "lact/base/log.h"
#include "lact/tasks/lm/serving/request_fields.h"

namespace lact::tasks::lm {

namespace {

constexpr std::string_view kPlaceOfContent = "{content}";
constexpr uintmax_t kLongestTemplateFile = 1 << 20;

/// A built-in template, and a piece of text that Jinja templates of its form contain.
struct NamedTemplate {
  const char* name;
  const char* sign;
  ChatTemplate form;
};

const std::vector<NamedTemplate>& named_templates() {
  static const std::vector<NamedTemplate> all = {
      {"chatml",
       "<|im_start|>",
       {"",
        "<|im_start|>system\n{content}<|im_end|>\n",
        "<|im_start|>user\n{content}<|im_end|>\n",
        "",
        "<|im_start|>assistant\n{content}<|im_end|>\n",
        "<|im_start|>assistant\n",
        {"<|im_end|>", "<|im_start|>"}}},
      {"llama3",
       "<|start_header_id|>",
       {"",
        "<|start_header_id|>system<|end_header_id|>\n\n{content}<|eot_id|>",
        "<|start_header_id|>user<|end_header_id|>\n\n{content}<|eot_id|>",
        "",
        "<|start_header_id|>assistant<|end_header_id|>\n\n{content}<|eot_id|>",
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
        {"<|eot_id|>", "<|start_header_id|>"}}},
      {"zephyr",
       "<|assistant|>",
       {"",
        "<|system|>\n{content}</s>\n",
        "<|user|>\n{content}</s>\n",
        "",
        "<|assistant|>\n{content}</s>\n",
        "<|assistant|>\n",
        {"</s>", "<|user|>"}}},
      {"gemma",
       "<start_of_turn>",
       {"",
        "<start_of_turn>user\n{content}\n\n",
        "<start_of_turn>user\n{content}<end_of_turn>\n",
        "{content}<end_of_turn>\n",
        "<start_of_turn>model\n{content}<end_of_turn>\n",
        "<start_of_turn>model\n",
        {"<end_of_turn>", "<start_of_turn>"}}},
      {"llama2",
       "[INST]",
       {"",
        "[INST] <<SYS>>\n{content}\n<</SYS>>\n\n",
        "[INST] {content} [/INST]",
        "{content} [/INST]",
        " {content} </s>",
        "",
        {"</s>", "[INST]"}}},
      {"alpaca",
       "### Instruction",
       {"",
        "{content}\n\n",
        "### Instruction:\n{content}\n\n",
        "",
        "### Response:\n{content}\n\n",
        "### Response:\n",
        {"### Instruction:"}}},
      {"plain", nullptr, {}}};
  return all;
}

std::string small_file(const std::filesystem::path& path) {
  LACT_CHECK(
      std::filesystem::is_regular_file(path) && std::filesystem::file_size(path) <= kLongestTemplateFile,
      "{}: expected a file of at most {} bytes", path.string(), kLongestTemplateFile);
  std::ifstream stream(path, std::ios::binary);
  LACT_CHECK(stream.good(), "{}: cannot be read", path.string());
  return {std::istreambuf_iterator<char>(stream), {}};
}

ChatTemplate template_of_file(const std::filesystem::path& path) {
  ChatTemplate form;
  const ApiJson json = parse_json(small_file(path), path.string());
  try {
    options::read(json, form);
  } catch (const Error& error) {
    fail("{}: {}", path.string(), error.what());
  }
  form.check(path.string());
  return form;
}

ChatTemplate recognised(const std::string& jinja, const std::string& place) {
  for (const auto& each : named_templates()) {
    if (each.sign == nullptr || jinja.find(each.sign) == std::string::npos) continue;
    log::info("{}: its chat template is taken for {}", place, each.name);
    return each.form;
  }
  fail("{}: its Jinja chat template is of no form that is known here; give --chat-template {} or a file",
       place, fmt::join(chat_template_names(), ", "));
}

/// The Jinja text of tokenizer_config.json, which may also be a list of named ones.
std::optional<std::string> template_in_config(const std::filesystem::path& path) {
  const auto json = try_parse_json(small_file(path));
  LACT_CHECK(json && json->is_object(), "{}: not a JSON object", path.string());
  const auto found = json->find("chat_template");
  if (found == json->end() || found->is_null()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  if (found->is_array()) {
    for (const auto& each : *found) {
      if (each.is_object() && each.value("name", "") == "default" && each.contains("template") &&
          each["template"].is_string()) {
        return each["template"].get<std::string>();
      }
    }
  }
  fail("{}: chat_template is {}, expected a string", path.string(), shown_json(*found));
}

std::string put(const std::string& form, const std::string& content) {
  std::string result = form;
  const size_t place = form.find(kPlaceOfContent);
  return result.replace(place, kPlaceOfContent.size(), content);
}

}  // namespace

void ChatTemplate::check(const std::string& name) const {
  for (const auto& [role, form] : {std::pair{"system", &system},
                                   {"user", &user},
                                   {"user_after_system", &user_after_system},
                                   {"assistant", &assistant}}) {
    if (form == &user_after_system && form->empty()) continue;
    const size_t place = form->find(kPlaceOfContent);
    LACT_CHECK(place != std::string::npos && form->find(kPlaceOfContent, place + 1) == std::string::npos,
               "{}: {} has to contain {} once", name, role, kPlaceOfContent);
  }
  for (const auto& each : stop) LACT_CHECK(!each.empty(), "{}: a text of stop is empty", name);
}

std::string ChatTemplate::apply(const std::vector<ChatMessage>& messages, bool with_reply) const {
  std::string text = begin;
  bool after_system = false;
  for (const auto& [role, content] : messages) {
    const std::string& of_user = after_system && !user_after_system.empty() ? user_after_system : user;
    text += put(role == "system" ? system : role == "assistant" ? assistant : of_user, content);
    after_system = role == "system";
  }
  return with_reply ? text + reply : text;
}

std::vector<std::string> chat_template_names() {
  std::vector<std::string> names;
  for (const auto& each : named_templates()) names.emplace_back(each.name);
  return names;
}

ChatTemplate read_chat_template(const std::string& name_or_file, const std::string& model_folder) {
  namespace fs = std::filesystem;
  for (const auto& each : named_templates()) {
    if (name_or_file == each.name) return each.form;
  }
  if (!name_or_file.empty()) {
    LACT_CHECK(fs::exists(name_or_file), "[serve] --chat-template is \"{}\", expected {} or a file",
               name_or_file, fmt::join(chat_template_names(), ", "));
    return template_of_file(name_or_file);
  }
  const fs::path folder = model_folder;
  if (fs::exists(folder / "chat_template.json")) return template_of_file(folder / "chat_template.json");
  if (fs::exists(folder / "chat_template.jinja")) {
    return recognised(small_file(folder / "chat_template.jinja"), (folder / "chat_template.jinja").string());
  }
  if (fs::exists(folder / "tokenizer_config.json")) {
    if (const auto jinja = template_in_config(folder / "tokenizer_config.json")) {
      return recognised(*jinja, (folder / "tokenizer_config.json").string());
    }
  }
  return {};
}

namespace {

std::string content_of(const ApiJson* content, const std::string& where) {
  if (content != nullptr && content->is_string()) return content->get<std::string>();
  if (content == nullptr || !content->is_array()) {
    refuse_request(400, "{} has no \"content\", expected a string or a list of text parts", where);
  }
  std::string text;
  for (size_t i = 0; i < content->size(); ++i) {
    RequestFields part((*content)[i], fmt::format("{}.content[{}]", where, i));
    const std::string type = part.required_text("type");
    if (type != "text")
      refuse_request(400, "{}.content[{}] is of type {}, but this model reads text alone", where, i,
                     shown_json(ApiJson(type)));
    text += part.required_text("text");
    part.finish();
  }
  return text;
}

}  // namespace

std::vector<ChatMessage> parse_messages(const ApiJson& list) {
  if (!list.is_array() || list.empty()) {
    refuse_request(400, "messages is {}, expected a list of at least one message", shown_json(list));
  }
  std::vector<ChatMessage> messages;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string where = fmt::format("messages[{}]", i);
    RequestFields fields(list[i], where);
    std::string role = fields.required_text("role");
    if (role == "developer") role = "system";
    if (role != "system" && role != "user" && role != "assistant") {
      refuse_request(400, "{}.role is {}, expected system, user or assistant", where,
                     shown_json(ApiJson(role)));
    }
    messages.push_back({role, content_of(fields.find("content"), where)});
    fields.ignore({"name", "refusal", "annotations"});
    for (const char* unsupported : {"tool_calls", "function_call", "audio"}) {
      fields.without(unsupported, {ApiJson::array()});
    }
    fields.finish();
  }
  return messages;
}

}  // namespace lact::tasks::lm
