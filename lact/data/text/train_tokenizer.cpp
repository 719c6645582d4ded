#include "lact/data/text/train_tokenizer.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string_view>

#include "lact/base/error.h"
#include "lact/base/format.h"
#include "lact/base/log.h"
#include "lact/base/options.h"
#include "lact/data/text/documents.h"
#include "lact/data/text/line_sample.h"
#include "lact/data/text/sentencepiece_program.h"
#include "lact/data/text/text_file.h"
#include "lact/data/text/utf8.h"
#include "lact/io/atomic_file.h"

namespace lact::data {

namespace {

// SentencePiece skips sentences above 4192 bytes, so longer lines are cut.
constexpr size_t kSentenceBytes = 4096;

// SentencePiece takes about six times the memory of the text that it gets.
constexpr size_t kMostTextBytes = size_t(128) << 20;

/// The lines of all documents one after the other, without those that hold nothing but white space.
class Lines {
 public:
  Lines(std::vector<std::string> files, std::string text_field)
      : files_(std::move(files)), text_field_(std::move(text_field)) {}

  bool next(std::string& sentence) {
    do {
      if (!fill()) return false;
      std::string_view rest = std::string_view(pending_).substr(begin_);
      const size_t newline = rest.find('\n');
      const size_t length = newline <= kSentenceBytes ? newline : cut(rest);
      sentence = rest.substr(0, length);
      begin_ += std::min(length + (length == newline ? 1 : 0), rest.size());
    } while (sentence.find_first_not_of(" \t\r\f\v") == std::string::npos);
    return true;
  }

 private:
  /// Holds enough text for a sentence, or all that is left of the document; false after the last one.
  bool fill() {
    while (pending_.size() - begin_ <= kSentenceBytes) {
      if (!in_document_) {
        if (begin_ < pending_.size()) return true;
        if (!next_document()) return false;
      }
      std::string part;
      in_document_ = documents_->next(part);
      pending_.erase(0, begin_);
      begin_ = 0;
      pending_ += part;
    }
    return true;
  }

  bool next_document() {
    while (documents_ == nullptr || !documents_->next_document()) {
      if (index_ == files_.size()) return false;
      documents_ = std::make_unique<Documents>(files_[index_++], text_field_);
    }
    return true;
  }

  static size_t cut(std::string_view text) {
    if (text.size() <= kSentenceBytes) return text.size();
    const std::string_view part = text.substr(0, kSentenceBytes);
    const size_t blank = part.rfind(' ');
    return blank != part.npos && blank > 0 ? blank : whole_utf8_characters(part);
  }

  std::vector<std::string> files_;
  std::string text_field_;
  size_t index_ = 0;  // of the next file
  std::unique_ptr<Documents> documents_;
  bool in_document_ = false;
  std::string pending_;
  size_t begin_ = 0;  // of what is not given yet in pending_
};

void check(const TrainTokenizerOptions& options) {
  LACT_CHECK(!options.output.empty(), "the name of the tokenizer to write is empty");
  LACT_CHECK(options.pieces.vocabulary_size >= 4 && options.pieces.vocabulary_size <= 1000000,
             "the vocabulary size is {}, expected 4 to 1000000", options.pieces.vocabulary_size);
  LACT_CHECK(options.pieces.character_coverage >= 0.98 && options.pieces.character_coverage <= 1,
             "the character coverage is {}, expected 0.98 to 1", options.pieces.character_coverage);
  LACT_CHECK(options.pieces.max_sentences >= 0, "the number of sentences is {}, expected 0 (all) or more",
             options.pieces.max_sentences);
}

std::map<std::string, std::string> settings_of(const TrainTokenizerOptions& options) {
  std::map<std::string, std::string> settings = {
      {"model_type", std::string(options::word_of(options.pieces.model_type))},
      {"vocab_size", std::to_string(options.pieces.vocabulary_size)},
      {"byte_fallback", options.pieces.byte_fallback ? "true" : "false"},
      {"character_coverage", fmt::format("{}", options.pieces.character_coverage)},
      {"input_sentence_size", std::to_string(options.pieces.max_sentences)},
      {"shuffle_input_sentence", "true"},
      {"split_digits", options.pieces.split_digits ? "true" : "false"},
      {"normalization_rule_name", "identity"},
      {"add_dummy_prefix", "true"},
      {"remove_extra_whitespaces", "false"},
      {"allow_whitespace_only_pieces", "true"},
      {"num_threads", "4"},  // fixed, as the sums of unigram training depend on it
  };
  if (!options.pieces.byte_fallback) settings["user_defined_symbols"] = "\n";
  return settings;
}

[[noreturn]] void explain(const std::string& mistake, const TrainTokenizerOptions& options) {
  const auto number_behind = [&](std::string_view words) -> long long {
    long long number = -1;
    const size_t place = mistake.find(words);
    if (place == std::string::npos) return -1;
    return std::sscanf(mistake.c_str() + place + words.size(), "%lld", &number) == 1 ? number : -1;
  };
  if (const long long most = number_behind("Please set it to a value <="); most >= 0) {
    fail("{}: the vocabulary size is {}, but the text supports at most {}", options.output,
         options.pieces.vocabulary_size, most);
  }
  if (const long long least =
          number_behind(fmt::format("required_chars. {} vs", options.pieces.vocabulary_size));
      least >= 0) {
    fail("{}: the vocabulary size is {}, but the characters of the text and the special pieces need {}",
         options.output, options.pieces.vocabulary_size, least);
  }
  fail("{}: no tokenizer can be trained on this text: {}", options.output, mistake);
}

}  // namespace

void train_sentencepiece(const TrainTokenizerOptions& options) {
  check(options);
  Lines lines(find_text_files(options.files), options.format.text_field);
  LineSample sample(kMostTextBytes);
  for (std::string line; lines.next(line);) sample.add(std::move(line));
  LACT_CHECK(sample.num_kept() > 0, "{}: no tokenizer can be trained: the text is empty", options.output);
  if (sample.num_kept() < sample.num_seen())
    log::info("trains on {} of {} lines, chosen at random: {}", sample.num_kept(), sample.num_seen(),
              format_bytes(double(sample.bytes())));
  size_t given = 0;
  const TrainedModel model = train_with_sentencepiece(settings_of(options), [&](std::string& sentence) {
    if (given == sample.num_kept()) return false;
    sentence = sample.take(given++);
    return true;
  });
  if (!model.mistake.empty()) explain(model.mistake, options);
  io::write_file_atomically(options.output, [&](io::FileWriter& writer) { writer.write(model.bytes); });
}

std::string why_no_training() { return why_no_sentencepiece(); }

}  // namespace lact::data
