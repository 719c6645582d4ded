#include "lact/data/text/encode.h"

#include <gtest/gtest.h>

#include "data/text/sample_text.h"
#include "support/errors.h"

namespace lact::data {

namespace {

using testing::read_file;
using testing::sample_text;
using testing::shared_data;
using testing::TemporaryFolder;
using testing::train_sample;
using testing::write_file;

struct Collected {
  std::vector<int32_t> tokens;
  int pieces = 0;

  TokenSink sink() {
    return [this](const std::vector<int32_t>& piece) {
      tokens.insert(tokens.end(), piece.begin(), piece.end());
      ++pieces;
    };
  }
};

void expect_pieces_equal_whole(const Tokenizer& tokenizer, const std::string& text) {
  const std::vector<int32_t> whole = tokenizer.encode(text);
  for (const size_t usual : {1, 2, 17, 100, 1000}) {
    for (const size_t block : {size_t{3}, size_t{50}, text.size()}) {
      Collected found;
      StreamEncoder encoder(tokenizer, found.sink(), {usual, size_t{8} << 20});
      for (size_t i = 0; i < text.size(); i += block) encoder.push(std::string_view(text).substr(i, block));
      encoder.finish();
      EXPECT_EQ(found.tokens, whole) << tokenizer.description() << ", " << usual << ", " << block;
      EXPECT_GT(found.pieces, 5);
    }
  }
}

TEST(StreamEncoder, PiecesEqualWholeForBytes) {
  expect_pieces_equal_whole(*byte_tokenizer(), sample_text(5000));
}

TEST(StreamEncoder, PiecesEqualWholeForTrainedModels) {
  if (const auto reason = why_no_training(); !reason.empty()) GTEST_SKIP() << reason;
  for (const auto type : {PieceModel::bpe, PieceModel::unigram}) {
    for (const bool byte_fallback : {true, false}) {
      expect_pieces_equal_whole(*train_sample(type, byte_fallback), sample_text(5000, 3));
    }
  }
}

TEST(StreamEncoder, PiecesEqualWholeForPublishedModels) {
  const std::string book = shared_data("text/books/valid/huckleberry_finn.txt");
  if (book.empty()) GTEST_SKIP() << "the texts and models are not beside the repository";
  const std::string text = read_file(book).substr(0, 50000);
  for (const char* name : {"llama2_32000", "mistral_v1_32000", "sp_test_1000", "books_bpe_4096"}) {
    const auto tokenizer = sentencepiece_tokenizer(shared_data(std::string("tokenizer/") + name + ".model"));
    expect_pieces_equal_whole(*tokenizer, text);
    expect_pieces_equal_whole(*tokenizer, sample_text(3000, 4));
  }
}

TEST(StreamEncoder, TextWithoutBlanksIsCutBetweenCharacters) {
  if (const auto reason = why_no_training(); !reason.empty()) GTEST_SKIP() << reason;
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "語é";
  for (const auto type : {PieceModel::bpe, PieceModel::unigram}) {
    const auto tokenizer = train_sample(type);
    Collected found;
    StreamEncoder encoder(*tokenizer, found.sink(), {16, 64});
    for (size_t i = 0; i < text.size(); i += 7) encoder.push(std::string_view(text).substr(i, 7));
    encoder.finish();
    EXPECT_GT(found.pieces, 50);
    EXPECT_EQ(tokenizer->decode(found.tokens), text) << "no blank is put where the text was cut";
  }
}

TEST(StreamEncoder, AfterFinishANewTextBegins) {
  if (const auto reason = why_no_training(); !reason.empty()) GTEST_SKIP() << reason;
  const auto tokenizer = train_sample(PieceModel::bpe);
  Collected found;
  StreamEncoder encoder(*tokenizer, found.sink());
  encoder.push("the chunk");
  encoder.finish();
  const auto once = found.tokens;
  encoder.push("the chunk");
  encoder.finish();
  EXPECT_EQ(std::vector<int32_t>(found.tokens.begin() + once.size(), found.tokens.end()), once);
}

TEST(EncodeFile, GivesTheTokensOfTheWholeFile) {
  if (const auto reason = why_no_training(); !reason.empty()) GTEST_SKIP() << reason;
  const TemporaryFolder folder;
  const std::string text = sample_text(20000);
  write_file(folder / "a.txt", text);
  const auto tokenizer = train_sample(PieceModel::bpe);
  Collected found;
  const EncodedFile encoded =
      encode_file(*tokenizer, folder / "a.txt", "text", found.sink(), {}, {4096, size_t{8} << 20});
  EXPECT_EQ(found.tokens, tokenizer->encode(text));
  EXPECT_GT(found.pieces, 10);
  EXPECT_EQ(encoded.bytes, text.size());
}

TEST(EncodeFile, SaysWhereDocumentsEnd) {
  const TemporaryFolder folder;
  write_file(folder / "a.jsonl", "{\"text\": \"one\"}\n{\"text\": \"\"}\n{\"text\": \"second\"}\n");
  Collected found;
  std::vector<std::pair<size_t, uint64_t>> ends;
  const EncodedFile encoded =
      encode_file(*byte_tokenizer(), folder / "a.jsonl", "text", found.sink(),
                  [&](uint64_t bytes) { ends.emplace_back(found.tokens.size(), bytes); });
  EXPECT_EQ(byte_tokenizer()->decode(found.tokens), "onesecond");
  EXPECT_EQ(ends, (std::vector<std::pair<size_t, uint64_t>>{{3, 3}, {9, 6}}));
  EXPECT_EQ(encoded.bytes, 9u);
}

TEST(EncodeFile, EmptyFileIsASentence) {
  const TemporaryFolder folder;
  write_file(folder / "no_text.jsonl", "{\"text\": \"\"}\n\n");
  EXPECT_SENTENCE(encode_file(*byte_tokenizer(), folder / "no_text.jsonl", "text", [](const auto&) {}),
                  "no_text.jsonl: the file is empty");
  write_file(folder / "empty.txt", "");
  EXPECT_SENTENCE(encode_file(*byte_tokenizer(), folder / "empty.txt", "text", [](const auto&) {}),
                  "empty.txt: the file is empty");
}

}  // namespace

}  // namespace lact::data
