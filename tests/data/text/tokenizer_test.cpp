#include "lact/data/text/tokenizer.h"

#include <gtest/gtest.h>

#include <random>

#include "data/text/sample_text.h"
#include "lact/base/options.h"
#include "support/errors.h"

namespace lact::data {

namespace {

using testing::read_file;
using testing::sample_text;
using testing::shared_data;
using testing::TemporaryFolder;
using testing::train_sample;
using testing::write_file;

TEST(ByteTokenizer, TokensAreTheBytes) {
  const auto bytes = byte_tokenizer();
  EXPECT_EQ(bytes->vocabulary_size(), 256);
  EXPECT_EQ(bytes->end_of_text(), 0);
  EXPECT_EQ(bytes->encode("A\xC3\xA9"), (std::vector<int32_t>{65, 0xC3, 0xA9}));
  EXPECT_EQ(bytes->decode(bytes->encode(" é ")), " é ");
  EXPECT_EQ(bytes->token_bytes(0xC3), "\xC3");
  EXPECT_EQ(bytes->description(), "bytes");
  EXPECT_EQ(bytes->model_bytes(), "");
  EXPECT_SENTENCE(bytes->decode({256}), "token 256 is not in the vocabulary, which has 256 bytes");
  EXPECT_SENTENCE(bytes->token_bytes(-1), "token -1 is not in the vocabulary");
}

class ReferenceEncodings : public ::testing::TestWithParam<const char*> {};

TEST_P(ReferenceEncodings, AreThoseOfSentencePiece) {
  const std::string path = shared_data("tokenizer/" + std::string(GetParam()) + ".model");
  const std::string reference = shared_data("tokenizer/reference_encodings.json");
  if (path.empty() || reference.empty())
    GTEST_SKIP() << "the reference encodings are not beside the repository";
  const auto tokenizer = sentencepiece_tokenizer(path);
  const auto expected = options::read_json_file(reference).at(GetParam());
  EXPECT_EQ(tokenizer->vocabulary_size(), expected.at("vocab_size").get<int64_t>());
  EXPECT_EQ(tokenizer->end_of_text(), expected.at("eos").get<int32_t>());
  EXPECT_TRUE(tokenizer->blanks_are_borders());
  EXPECT_FALSE(expected.at("cases").empty());
  for (const auto& item : expected.at("cases")) {
    const auto text = item.at("text").get<std::string>();
    const auto ids = item.at("ids").get<std::vector<int32_t>>();
    EXPECT_EQ(tokenizer->encode(text), ids) << text;
    // SentencePiece writes " ⁇ " for an unknown token, we nothing.
    auto decoded = item.at("decoded").get<std::string>();
    const std::string unknown = " \xE2\x81\x87 ";
    for (size_t at; (at = decoded.find(unknown)) != std::string::npos;) decoded.erase(at, unknown.size());
    EXPECT_EQ(tokenizer->decode(ids), decoded) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ReferenceEncodings,
                         ::testing::Values("llama2_32000", "mistral_v1_32000", "sp_test_1000",
                                           "books_bpe_4096"),
                         [](const auto& info) { return std::string(info.param); });

class TrainedTokenizer : public ::testing::TestWithParam<PieceModel> {
 protected:
  void SetUp() override {
    if (const auto reason = why_no_training(); !reason.empty()) GTEST_SKIP() << reason;
  }
};

TEST_P(TrainedTokenizer, EveryTextSurvives) {
  const auto tokenizer = train_sample(GetParam());
  std::vector<std::string> texts = {"",   "a",      " a",     "  a  ",
                                    "\n", "日本語", "\t\n x", "\x01<s></s><unk><0x41>"};
  texts.push_back(sample_text(500, 7));
  for (auto& text : texts) {
    // U+2581 is the mark of a blank and cannot be told from one.
    for (size_t at; (at = text.find("\xE2\x96\x81")) != std::string::npos;) text.erase(at, 3);
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
    std::string joined;
    for (const int32_t token : tokenizer->encode(text)) joined += tokenizer->token_bytes(token);
    EXPECT_EQ(joined, text.empty() ? "" : " " + text) << "the bytes of tokens keep the blank before the text";
  }
}

TEST_P(TrainedTokenizer, IsMadeAgainFromItsBytes) {
  const auto tokenizer = train_sample(GetParam());
  const auto again = sentencepiece_from_bytes(tokenizer->model_bytes(), "copy");
  EXPECT_EQ(again->hash(), tokenizer->hash());
  EXPECT_EQ(again->hash().size(), 16u);
  EXPECT_EQ(again->encode(sample_text(100)), tokenizer->encode(sample_text(100)));
  EXPECT_EQ(again->description(), "SentencePiece, 400 pieces");
}

TEST_P(TrainedTokenizer, TokensOutsideTheVocabularyAreSentences) {
  const auto tokenizer = train_sample(GetParam());
  EXPECT_SENTENCE(tokenizer->decode({400}), "token 400 is not in the vocabulary, which has 400 pieces");
  EXPECT_SENTENCE(tokenizer->token_bytes(-1), "token -1 is not in the vocabulary");
  for (const int32_t special : {0, 1, 2}) EXPECT_EQ(tokenizer->token_bytes(special), "");
  auto framed = tokenizer->encode("a");
  framed.insert(framed.begin(), 1);
  framed.push_back(2);
  EXPECT_EQ(tokenizer->decode(framed), "a") << "a control token before the text changes nothing";
}

TEST_P(TrainedTokenizer, ContinuationHasNoBlankBeforeIt) {
  const auto tokenizer = train_sample(GetParam());
  auto tokens = tokenizer->encode("chunk");
  for (const int32_t token : tokenizer->encode_continuation("tokens")) tokens.push_back(token);
  EXPECT_EQ(tokenizer->decode(tokens), "chunktokens");
}

TEST_P(TrainedTokenizer, DamagedModelsNeverCrash) {
  const std::string bytes = train_sample(GetParam())->model_bytes();
  std::mt19937 random(3);
  int loaded = 0;
  const auto attempt = [&](const std::string& damaged) {
    try {
      const auto tokenizer = sentencepiece_from_bytes(damaged, "damaged");
      tokenizer->decode(tokenizer->encode(sample_text(20)));
      ++loaded;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  };
  for (int i = 0; i < 300; ++i) {
    attempt(bytes.substr(0, random() % bytes.size()));
    std::string changed = bytes;
    for (int k = 0; k < 3; ++k)
      changed[random() % (i % 2 == 0 ? bytes.size() : 2000)] = static_cast<char>(random());
    attempt(changed);
  }
  SUCCEED() << loaded << " still were models";
}

INSTANTIATE_TEST_SUITE_P(Types, TrainedTokenizer, ::testing::Values(PieceModel::bpe, PieceModel::unigram),
                         [](const auto& info) { return info.param == PieceModel::bpe ? "Bpe" : "Unigram"; });

TEST(SentencePieceTokenizer, NormalisationRulesThatAreDamagedNeverCrash) {
  const std::string path = shared_data("tokenizer/sp_test_1000.model");
  if (path.empty()) GTEST_SKIP() << "a model with normalisation rules is not beside the repository";
  const std::string bytes = read_file(path);
  std::mt19937 random(5);
  for (int i = 0; i < 60; ++i) {
    std::string changed = bytes;
    for (int k = 0; k < 200; ++k)
      changed[bytes.size() / 8 + random() % (bytes.size() * 7 / 8)] = static_cast<char>(random());
    try {
      sentencepiece_from_bytes(changed, "damaged")->encode(sample_text(200));
    } catch (const Error&) {
    }
  }
}

TEST(SentencePieceTokenizer, PrintsNothing) {
  if (const auto reason = why_no_training(); !reason.empty()) GTEST_SKIP() << reason;
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  EXPECT_THROW(sentencepiece_from_bytes("garbage", "x"), Error);
  EXPECT_NO_THROW(train_sample(PieceModel::unigram));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

TEST(ReadTokenizer, TakesAWordAFileOrAFolder) {
  if (const auto reason = why_no_training(); !reason.empty()) GTEST_SKIP() << reason;
  const TemporaryFolder folder;
  const auto sample = train_sample(PieceModel::bpe);
  write_file(folder / "tokenizer.model", sample->model_bytes());
  EXPECT_EQ(read_tokenizer("bytes")->description(), "bytes");
  EXPECT_EQ(read_tokenizer(folder / "tokenizer.model")->hash(), sample->hash());
  EXPECT_EQ(read_tokenizer(folder / "")->hash(), sample->hash());
}

TEST(ReadTokenizer, WhatIsNoTokenizerIsASentence) {
  const TemporaryFolder folder;
  write_file(folder / "empty.model", "");
  write_file(folder / "text.model", "This is not a model, but a text about one.\n");
  write_file(folder / "zeros.model", std::string(1000, '\0'));
  EXPECT_SENTENCE(read_tokenizer(folder / "empty.model"), "empty.model: the file is empty");
  EXPECT_SENTENCE(read_tokenizer(folder / "text.model"), "text.model: is not a");
  EXPECT_SENTENCE(read_tokenizer(folder / "zeros.model"), "zeros.model: is not a SentencePiece model");
  EXPECT_SENTENCE(read_tokenizer(folder / "none.model"), "none.model: does not exist");
  EXPECT_SENTENCE(read_tokenizer(folder / ""), "the folder holds no tokenizer.model");
  EXPECT_SENTENCE(read_tokenizer(""), "the tokenizer is \"\"");
  EXPECT_SENTENCE(sentencepiece_tokenizer(folder / ""), "is a folder, expected a file");
}

}  // namespace

}  // namespace lact::data
