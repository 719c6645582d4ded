// Text files of lines and words, as OBJ files and the headers of PLY files are; a mistake names its line.
#pragma once

#include <string>
#include <string_view>

namespace lact::io {

/// Takes a text apart: lines, words in them and numbers, remembering where it is.
class TextLines {
 public:
  TextLines(std::string path, std::string_view text) : path_(std::move(path)), rest_(text) {}

  /// Steps to the next line that is neither empty nor a comment (from # on); false at the end.
  bool next_line();
  /// The next word of the line; empty at its end.
  std::string_view word();
  /// Words that are left of the line; no more than `most` are counted.
  int words_left(int most) const;
  /// All that is left of the line, without blanks around it.
  std::string_view remainder();
  /// The next word as a finite number of at most 1e18; `what` is for the sentence.
  double number(std::string_view what);

  /// Throws "path: line 12: sentence".
  [[noreturn]] void mistake(const std::string& sentence) const;

 private:
  std::string path_;
  std::string_view rest_;
  std::string_view line_;
  long number_ = 0;
};

}  // namespace lact::io
