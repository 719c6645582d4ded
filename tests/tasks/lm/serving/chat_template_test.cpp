#include "lact/tasks/lm/serving/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::tasks::lm {
namespace {

using testing::TemporaryFolder;
using testing::write_file;

const std::vector<ChatMessage> kTalk = {
    {"system", "S"}, {"user", "{content}"}, {"assistant", "A"}, {"user", "V"}};

std::string with(const std::string& name) { return read_chat_template(name, "").apply(kTalk); }

TEST(ChatTemplate, BuiltInFormsPutMessagesAsTheirModelsKnowThem) {
  EXPECT_EQ(with("chatml"),
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\n{content}<|im_end|>\n"
            "<|im_start|>assistant\nA<|im_end|>\n<|im_start|>user\nV<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(with("llama2"), "[INST] <<SYS>>\nS\n<</SYS>>\n\n{content} [/INST] A </s>[INST] V [/INST]");
  EXPECT_EQ(with("gemma"),
            "<start_of_turn>user\nS\n\n{content}<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n"
            "<start_of_turn>user\nV<end_of_turn>\n<start_of_turn>model\n");
  EXPECT_EQ(with("plain"), "S\n\nUser: {content}\nAssistant: A\nUser: V\nAssistant:");
  for (const auto& name : chat_template_names()) {
    EXPECT_NO_THROW(read_chat_template(name, "").check(name)) << name;
  }
}

TEST(ChatTemplate, AFileSaysHow) {
  const TemporaryFolder folder;
  write_file(folder / "t.json",
             R"json({"system": "({content})", "user": "Q {content}\n", "assistant": "A {content}\n",
                                    "reply": "A", "stop": ["\nQ"]
})json");
  EXPECT_EQ(with(folder / "t.json"), "(S)Q {content}\nA A\nQ V\nA");
  write_file(folder / "bad.json", R"({"user": "no place"})");
  EXPECT_SENTENCE(read_chat_template(folder / "bad.json", ""),
                  "bad.json: user has to contain {content} once");
  write_file(folder / "odd.json", R"({"usr": "{content}"})");
  EXPECT_SENTENCE(read_chat_template(folder / "odd.json", ""), "usr");
  EXPECT_SENTENCE(read_chat_template("nothing", ""), "expected chatml, llama3");
}

TEST(ChatTemplate, AModelsFolderBringsItsOwn) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_chat_template("", folder / "."), ChatTemplate());
  write_file(folder / "tokenizer_config.json",
             R"({"chat_template": "{% for m in messages %}<|im_start|>{{ m.role }}{% endfor %}"})");
  EXPECT_EQ(read_chat_template("", folder / "."), read_chat_template("chatml", ""));
  write_file(folder / "tokenizer_config.json", R"({"chat_template": "{{ something_else }}"})");
  EXPECT_SENTENCE(read_chat_template("", folder / "."),
                  "of no form that is known here; give --chat-template");
  write_file(folder / "chat_template.jinja", "[INST] {{ m }} [/INST]");
  EXPECT_EQ(read_chat_template("", folder / "."), read_chat_template("llama2", ""));
  write_file(folder / "chat_template.json", R"({"reply": "Then:"})");
  EXPECT_EQ(read_chat_template("", folder / ".").reply, "Then:");
  EXPECT_EQ(read_chat_template("plain", folder / "."), ChatTemplate()) << "what is asked for counts";
}

}  // namespace
}  // namespace lact::tasks::lm
