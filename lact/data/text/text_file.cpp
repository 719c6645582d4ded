#include "lact/data/text/text_file.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "lact/base/error.h"
#include "lact/io/regular_file.h"

namespace lact::data {

namespace fs = std::filesystem;

TextFile::TextFile(const std::string& path, size_t block_bytes)
    : path_(path), block_bytes_(block_bytes), file_(path) {
  LACT_ASSERT(block_bytes > 0);
}

bool TextFile::next(std::string& block) {
  do {
    if (at_end_) return false;
    file_.read(block, block_bytes_);
    check_utf8(block);
    at_end_ = block.empty();
    block = cleaned(block);
  } while (block.empty());
  hash_.update(block);
  bytes_ += block.size();
  return true;
}

void TextFile::check_utf8(std::string_view raw) {
  if (const auto mistake = raw.empty() ? validator_.finish() : validator_.push(raw)) {
    // A character that the last block began may be the mistake: it holds no line's end.
    const auto place = mistake->position - std::min(raw_bytes_, mistake->position);
    lines_ += uint64_t(std::count(raw.begin(), raw.begin() + ptrdiff_t(place), '\n'));
    fail("{}: byte {} (0x{:02x}) is not valid UTF-8, in line {}", path_, mistake->position, mistake->byte,
         lines_);
  }
  raw_bytes_ += raw.size();
  lines_ += uint64_t(std::count(raw.begin(), raw.end(), '\n'));
}

std::string TextFile::cleaned(std::string_view raw) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  std::string text = std::move(held_);
  text += raw;
  held_.clear();
  const auto hold = [&](size_t begin) {
    held_ = text.substr(begin);
    text.resize(begin);
  };
  if (at_beginning_) {
    if (!at_end_ && text.size() < kMark.size() && kMark.starts_with(text)) {
      hold(0);
      return text;
    }
    if (text.starts_with(kMark)) text.erase(0, kMark.size());
    at_beginning_ = false;
  }
  if (!at_end_ && text.ends_with('\r')) hold(text.size() - 1);
  unify_line_ends(text);
  return text;
}

void unify_line_ends(std::string& text) {
  size_t kept = text.find("\r\n");
  if (kept == std::string::npos) return;
  for (size_t i = kept; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    text[kept++] = text[i];
  }
  text.resize(kept);
}

namespace {

bool has_text_name(const fs::path& path) {
  constexpr std::array<std::string_view, 7> kEndings = {".txt",    ".text", ".md", ".jsonl",
                                                        ".ndjson", ".gz",   ".zst"};
  return std::find(kEndings.begin(), kEndings.end(), path.extension().string()) != kEndings.end();
}

std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (has_text_name(entry->path()) && entry->is_regular_file(ignored))
      files.push_back(entry->path().string());
  }
  LACT_CHECK(!error, "{}: the folder cannot be read: {}", folder, error.message());
  LACT_CHECK(!files.empty(), "{}: the folder holds no .txt, .text, .md, .jsonl, .ndjson, .gz or .zst file",
             folder);
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<std::string> find_text_files(const std::vector<std::string>& paths) {
  LACT_CHECK(!paths.empty(), "no text files are given");
  std::vector<std::string> files;
  for (const auto& path : paths) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      for (auto& file : files_below(path)) files.push_back(std::move(file));
    } else {
      io::regular_file_size(path);
      files.push_back(path);
    }
  }
  return files;
}

}  // namespace lact::data
