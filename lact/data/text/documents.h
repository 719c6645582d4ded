// The documents of text files: a file of JSON lines holds one in each line, any other file is one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "lact/data/text/text_file.h"

namespace lact::data {

/// Whether the file's name says so: .jsonl, .ndjson or .json, also packed (.jsonl.gz, .jsonl.zst).
bool has_json_lines(const std::string& path);

/// One after the other, in bounded memory: a document comes in parts, and a line of JSON is limited.
class Documents {
 public:
  Documents(const std::string& path, const std::string& text_field);

  /// Goes on to the next document with any text; false after the last.
  bool next_document();
  /// Replaces `part` by the next part of the document's text, which may end inside a character; false at the
  /// end of the document.
  bool next(std::string& part);

  /// FNV-1a of the file's contents, unpacked.
  std::string hash() const { return file_.hash(); }

 private:
  bool next_line();
  void read_text_of_line();

  std::string path_, text_field_;
  bool has_lines_;
  TextFile file_;
  std::string part_;       // begins the document
  bool has_part_ = false;  // part_ is not given yet
  // Of JSON lines:
  std::string pending_, line_;
  size_t begin_ = 0, searched_ = 0;  // in pending_: of the next line; no line's end before this
  uint64_t line_number_ = 0;
};

}  // namespace lact::data
