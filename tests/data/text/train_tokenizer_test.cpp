#include "lact/data/text/train_tokenizer.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>

#include "data/text/sample_text.h"
#include "lact/base/options.h"
#include "support/errors.h"

namespace lact::data {

namespace {

using testing::read_file;
using testing::sample_text;
using testing::TemporaryFolder;
using testing::write_file;

class TrainTokenizer : public ::testing::TestWithParam<PieceModel> {
 protected:
  void SetUp() override {
    if (const auto reason = why_no_training(); !reason.empty()) GTEST_SKIP() << reason;
  }

  TrainTokenizerOptions options(const std::string& text, int64_t vocabulary_size = 400) {
    write_file(folder_ / "text.txt", text);
    TrainTokenizerOptions result;
    result.files = {folder_ / "text.txt"};
    result.output = folder_ / "out.model";
    result.pieces.model_type = GetParam();
    result.pieces.vocabulary_size = vocabulary_size;
    return result;
  }
  TemporaryFolder folder_;
};

TEST_P(TrainTokenizer, HasTheSizeAndTheSpecialTokens) {
  const auto chosen = options(sample_text(5000));
  train_sentencepiece(chosen);
  const auto tokenizer = sentencepiece_tokenizer(chosen.output);
  EXPECT_EQ(tokenizer->vocabulary_size(), 400);
  EXPECT_EQ(tokenizer->end_of_text(), 2);
  EXPECT_TRUE(tokenizer->blanks_are_borders());
  EXPECT_EQ(tokenizer->encode("the").size(), 1u) << "a word that comes often is one token";
  EXPECT_EQ(folder_.names(), (std::vector<std::string>{"out.model", "text.txt"}));
}

TEST_P(TrainTokenizer, SameTextGivesTheSameModelAlsoFromGzipAndASample) {
  auto chosen = options(sample_text(5000));
  chosen.pieces.max_sentences = 200;
  train_sentencepiece(chosen);
  const std::string first = read_file(chosen.output);
  const gzFile file = gzopen((folder_ / "text.gz").c_str(), "wb");
  const std::string text = sample_text(5000);
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  chosen.files = {folder_ / "text.gz"};
  train_sentencepiece(chosen);
  EXPECT_TRUE(read_file(chosen.output) == first);
}

TEST_P(TrainTokenizer, DocumentsOfJsonLinesAreReadLineByLine) {
  const std::string text = sample_text(5000);
  auto chosen = options(text);
  train_sentencepiece(chosen);
  const std::string first = read_file(chosen.output);
  const size_t middle = text.find('\n', text.size() / 2);
  const auto line = [](const std::string& part) {
    return options::Json{{"id", 1}, {"body", part}}.dump() + "\n";
  };
  write_file(folder_ / "text.jsonl", line(text.substr(0, middle)) + line(text.substr(middle + 1)));
  chosen.files = {folder_ / "text.jsonl"};
  chosen.format.text_field = "body";
  train_sentencepiece(chosen);
  EXPECT_TRUE(read_file(chosen.output) == first);
  chosen.format.text_field = "text";
  EXPECT_SENTENCE(train_sentencepiece(chosen), "text.jsonl: line 1 has no field \"text\" (it has: ");
}

TEST_P(TrainTokenizer, AFolderWithACommaIsNoList) {
  auto chosen = options(sample_text(5000));
  std::filesystem::create_directory(folder_ / "a,b");
  chosen.output = folder_ / "a,b/out.model";
  train_sentencepiece(chosen);
  EXPECT_EQ(sentencepiece_tokenizer(chosen.output)->vocabulary_size(), 400);
}

TEST(TrainTokenizerProgram, WithoutItTheSentenceNamesThePackage) {
  const TemporaryFolder folder;
  write_file(folder / "text.txt", sample_text(100));
  const std::string path = std::getenv("PATH");
  setenv("PATH", (folder / "").c_str(), 1);
  TrainTokenizerOptions options;
  options.files = {folder / "text.txt"};
  options.output = folder / "out.model";
  const std::string reason = why_no_training();
  EXPECT_SENTENCE(train_sentencepiece(options),
                  "spm_train is needed to train a tokenizer and is not installed");
  setenv("PATH", path.c_str(), 1);
  EXPECT_THAT(reason, ::testing::HasSubstr("it is in the package sentencepiece"));
  EXPECT_EQ(folder.names(), std::vector<std::string>{"text.txt"});
}

TEST_P(TrainTokenizer, WithoutByteFallbackNewlinesSurvive) {
  auto chosen = options(sample_text(5000), 150);
  chosen.pieces.byte_fallback = false;
  train_sentencepiece(chosen);
  const auto tokenizer = sentencepiece_tokenizer(chosen.output);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("the\n\nend\n")), "the\n\nend\n");
}

TEST_P(TrainTokenizer, LongLinesAreUsed) {
  std::string line;
  for (int i = 0; i < 5000; ++i) line += "abcdefg ";
  const auto chosen = options(line + sample_text(2000));
  train_sentencepiece(chosen);
  EXPECT_LE(sentencepiece_tokenizer(chosen.output)->encode("abcdefg").size(), 2u);
}

TEST_P(TrainTokenizer, ATextThatIsTooSmallIsASentence) {
  EXPECT_SENTENCE(train_sentencepiece(options(sample_text(100), 50000)),
                  "out.model: the vocabulary size is 50000, but the text supports at most ");
  EXPECT_SENTENCE(
      train_sentencepiece(options(sample_text(100), 10)),
      "out.model: the vocabulary size is 10, but the characters of the text and the special pieces need ");
  for (const char* text : {"", "\n\n", "  \n \t\r\n"}) {
    EXPECT_SENTENCE(train_sentencepiece(options(text)),
                    "out.model: no tokenizer can be trained: the text is empty");
  }
  for (const char* text : {"a", "a a", "\xE2\x96\x81", "\x01", "\xEF\xBF\xBD", "\xE2\x96\x85", "日"}) {
    EXPECT_SENTENCE(train_sentencepiece(options(text)), "out.model: ");
  }
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"text.txt"}) << "nothing is left behind";
}

TEST_P(TrainTokenizer, WrongOptionsAreSentences) {
  auto chosen = options("caf\xE9");
  EXPECT_SENTENCE(train_sentencepiece(chosen), "text.txt: byte 3 (0xe9) is not valid UTF-8");
  chosen.pieces.vocabulary_size = 0;
  EXPECT_SENTENCE(train_sentencepiece(chosen), "the vocabulary size is 0, expected 4 to 1000000");
  chosen = options("a");
  chosen.pieces.character_coverage = 2;
  EXPECT_SENTENCE(train_sentencepiece(chosen), "the character coverage is 2, expected 0.98 to 1");
  chosen = options("a");
  chosen.output = "";
  EXPECT_SENTENCE(train_sentencepiece(chosen), "the name of the tokenizer to write is empty");
  chosen = options("a");
  chosen.files = {folder_ / "none.txt"};
  EXPECT_SENTENCE(train_sentencepiece(chosen), "none.txt: does not exist");
}

INSTANTIATE_TEST_SUITE_P(Types, TrainTokenizer, ::testing::Values(PieceModel::bpe, PieceModel::unigram),
                         [](const auto& info) { return info.param == PieceModel::bpe ? "Bpe" : "Unigram"; });

}  // namespace

}  // namespace lact::data
