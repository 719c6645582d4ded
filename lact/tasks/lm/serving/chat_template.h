// How a conversation becomes the text that a model continues.
//
// A template is made of pieces with a place for what was said, not of a programming language: a few texts say
// how each message is put, and what comes before the answer. Of the Jinja templates that model folders bring,
// those that write one of the built-in forms are recognised; no Jinja is executed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lact/tasks/lm/serving/api_error.h"

namespace lact::tasks::lm {

struct ChatMessage {
  std::string role, content;
};

struct ChatTemplate {
  std::string begin;
  std::string system = "{content}\n\n";
  std::string user = "User: {content}\n";
  std::string user_after_system = "";
  std::string assistant = "Assistant: {content}\n";
  std::string reply = "Assistant:";
  std::vector<std::string> stop = {"\nUser:"};

  template <class Visitor>
  void visit(Visitor&& field) {
    field("begin", begin, "before everything");
    field("system", system, "a message of the system; {content} is what it says");
    field("user", user, "a message of the user");
    field(
        "user_after_system", user_after_system,
        "a message of the user right after one of the system, where they share a frame; empty: as any other");
    field("assistant", assistant, "a message of the assistant");
    field("reply", reply, "after everything, before the answer");
    field("stop", stop, "texts that end the answer");
  }
  bool operator==(const ChatTemplate&) const = default;

  /// Throws lact::Error that begins with `name` if a message has no place for its content.
  void check(const std::string& name) const;

  std::string apply(const std::vector<ChatMessage>& messages, bool with_reply = true) const;
};

/// "chatml", "plain", ...
std::vector<std::string> chat_template_names();

/// A built-in name or a JSON file of the fields above; "": what the model's folder brings
/// (chat_template.json, chat_template.jinja or tokenizer_config.json), or "plain" if it brings none.
ChatTemplate read_chat_template(const std::string& name_or_file, const std::string& model_folder);

/// The messages of a request: [{"role": "user", "content": "..."}]; contents may be lists of text parts.
std::vector<ChatMessage> parse_messages(const ApiJson& list);

}  // namespace lact::tasks::lm
