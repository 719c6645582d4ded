// How text files become rows of tokens.
#pragma once

#include <string>

namespace lact::data {

struct TextFormat {
  std::string text_field = "text";
  bool end_of_text = true;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("text_field", text_field, "field of a JSON line (.jsonl, .ndjson, .json) that holds its text");
    field("end_of_text", end_of_text, "put the tokenizer's end-of-text token between documents");
  }
  bool operator==(const TextFormat&) const = default;
};

}  // namespace lact::data
