#include "lact/models/video/text.h"

#include <ATen/ATen.h>

#include "lact/models/video/word_encoder.h"
#include "lact/models/video/words.h"
#include "support/errors.h"
#include "support/gradients.h"
#include "support/temporary_folder.h"

namespace lact::models {
namespace {

using lact::testing::difference;
using lact::testing::TemporaryFolder;

WordEncoderConfig tiny_words() {
  WordEncoderConfig config;
  config.text_dim = 16;
  config.text_length = 8;
  config.word_buckets = 64;
  config.gram_buckets = 128;
  config.num_heads = 2;
  config.hidden_dim = 24;
  return config;
}

std::shared_ptr<WordEncoder> make_words(const WordEncoderConfig& config = tiny_words()) {
  at::manual_seed(8);
  auto encoder = std::make_shared<WordEncoder>(config);
  encoder->to(at::kDouble);
  at::NoGradGuard no_grad;
  for (at::Tensor parameter : encoder->parameters())
    if (parameter.dim() == 2) parameter.mul_(20);  // a fresh one hardly mixes words
  return encoder;
}

TEST(Words, AreLettersTogetherAndMarksAlone) {
  EXPECT_EQ(split_words("A red ball, 12px\tleaves."),
            (std::vector<std::string>{"a", "red", "ball", ",", "12px", "leaves", "."}));
  EXPECT_EQ(split_words("Käse--x"), (std::vector<std::string>{"käse", "-", "-", "x"}));
  EXPECT_TRUE(split_words(" \n\t ").empty());
}

TEST(Words, HashesAreTheSameEverywhere) {
  EXPECT_EQ(gram_buckets("a", 1000).size(), 1u);     // <a>
  EXPECT_EQ(gram_buckets("ball", 1000).size(), 9u);  // of <ball>: 4 of 3 bytes, 3 of 4, 2 of 5
  EXPECT_EQ(word_bucket("ball", 1), 0);
  const auto one = gram_buckets("balls", 1 << 20), other = gram_buckets("ball", 1 << 20);
  EXPECT_EQ(one[0], other[0]);
  EXPECT_NE(word_bucket("balls", 1 << 20), word_bucket("ball", 1 << 20));
}

TEST(WordEncoder, IsZeroAfterTheEndOfAText) {
  const auto encoder = make_words();
  const at::Tensor encoded =
      encoder->encode({"a red ball", "", "one two three four five six seven eight nine"});
  ASSERT_EQ(encoded.sizes(), (std::vector<int64_t>{3, 8, 16}));
  const at::Tensor filled = encoded.abs().amax(2).gt(0).sum(1);
  EXPECT_EQ(filled[0].item<int64_t>(), 4);  // three words and the end
  EXPECT_EQ(filled[1].item<int64_t>(), 1);  // the end alone
  EXPECT_EQ(filled[2].item<int64_t>(), 8);  // cut
  EXPECT_TRUE(encoder->encode({"one two three four five six seven"})[0].equal(encoded[2]));
}

TEST(WordEncoder, ATextDoesNotDependOnItsNeighbours) {
  const auto encoder = make_words();
  const at::Tensor together = encoder->encode({"a red ball", "a long text of seven words", ""});
  EXPECT_LT(difference(encoder->encode({"a red ball"})[0], together[0]), 1e-12);
  EXPECT_LT(difference(encoder->encode({""})[0], together[2]), 1e-12);
  EXPECT_TRUE(encoder->encode({"A  RED ball"})[0].equal(encoder->encode({"a red ball"})[0]));
}

TEST(WordEncoder, WordsAndTheirOrderMatter) {
  const auto encoder = make_words();
  const at::Tensor text = encoder->encode({"red ball hides"});
  EXPECT_GT(difference(encoder->encode({"red cube hides"}), text), 1e-2);
  EXPECT_GT(difference(encoder->encode({"ball red hides"}), text), 1e-2);
  // A word reaches the others through attention.
  EXPECT_GT(difference(encoder->encode({"red cube hides"})[0][0], text[0][0]), 1e-3);
  auto config = tiny_words();
  config.num_layers = 0;
  const auto alone = make_words(config);
  EXPECT_TRUE(alone->encode({"red cube"})[0][0].equal(alone->encode({"red ball"})[0][0]));
}

TEST(WordEncoder, GradientsAreThoseOfFiniteDifferences) {
  const auto encoder = make_words();
  const at::Tensor weighting = at::randn({2, 8, 16}, at::kDouble);
  const auto loss = [&] { return (encoder->encode({"a red ball", "two"}) * weighting).sum(); };
  loss().backward();
  at::NoGradGuard no_grad;
  for (const auto& item : encoder->named_parameters()) {
    at::Tensor parameter = item.value();
    ASSERT_TRUE(parameter.grad().defined()) << item.key();
    EXPECT_GT(parameter.grad().abs().max().item<double>(), 0) << item.key();
    const at::Tensor along = at::randn_like(parameter), kept = parameter.clone();
    const double analytic = (parameter.grad() * along).sum().item<double>(), step = 1e-6;
    parameter.copy_(kept + step * along);
    const double above = loss().item<double>();
    parameter.copy_(kept - step * along);
    const double numeric = (above - loss().item<double>()) / (2 * step);
    parameter.copy_(kept);
    EXPECT_NEAR(numeric, analytic, 1e-5 * std::max(1.0, std::abs(analytic))) << item.key();
  }
}

TEST(WordEncoder, FoldersComeBackTheSame) {
  const TemporaryFolder folder;
  const WordEncoder encoder(tiny_words());
  save_word_encoder(folder / "text", encoder);
  const auto again = load_word_encoder(folder / "text");
  EXPECT_EQ(again->config(), encoder.config());
  EXPECT_TRUE(again->encode({"a ball"}).equal(encoder.encode({"a ball"})));
}

TEST(WordEncoder, MistakesAreSentences) {
  EXPECT_SENTENCE(make_words()->encode({}), "there is no text");
  auto config = tiny_words();
  config.num_heads = 3;
  EXPECT_SENTENCE(WordEncoder{config}, "num_heads is 3, which does not divide text_dim 16");
  config = tiny_words();
  config.text_length = 0;
  EXPECT_SENTENCE(WordEncoder{config}, "text_length is 0");
  EXPECT_SENTENCE(load_word_encoder("/nowhere"), "/nowhere: is not a model folder");
}

std::shared_ptr<const Umt5Encoder> tiny_umt5_encoder() {
  at::manual_seed(1);
  Umt5Config config;
  config.vocabulary = 300;
  config.model_dim = config.attention_dim = 16;
  config.hidden_dim = 24;
  config.num_heads = 2;
  config.num_layers = 2;
  return std::make_shared<Umt5Encoder>(config);
}

TextTokens byte_tokens() {
  return {[](const std::string& text) {
            std::vector<int32_t> ids;
            for (const char byte : text) ids.push_back(2 + static_cast<unsigned char>(byte));
            return ids;
          },
          1};
}

TEST(Umt5Text, IsTheEncoderWithAnEndAndZeros) {
  const auto encoder = tiny_umt5_encoder();
  const Umt5TextEncoder text(encoder, byte_tokens(), 6);
  EXPECT_EQ(text.text_dim(), 16);
  EXPECT_TRUE(text.parameters().empty());
  const at::Tensor encoded = text.encode({" ab ", "", "abcdefghi"});
  ASSERT_EQ(encoded.sizes(), (std::vector<int64_t>{3, 6, 16}));
  EXPECT_FALSE(encoded.requires_grad());
  at::NoGradGuard no_grad;
  const auto ids = [](std::vector<int64_t> values) { return at::tensor(values, at::kLong).unsqueeze(0); };
  EXPECT_TRUE(encoded[0].narrow(0, 0, 3).equal(encoder->forward(ids({2 + 'a', 2 + 'b', 1}))[0]));
  EXPECT_EQ(encoded[0].narrow(0, 3, 3).abs().sum().item<float>(), 0);
  EXPECT_TRUE(encoded[1].narrow(0, 0, 1).equal(encoder->forward(ids({1}))[0]));
  EXPECT_TRUE(encoded[2].equal(encoder->forward(ids({99, 100, 101, 102, 103, 1}))[0]));
}

TEST(Umt5Text, IsLedAwayFromWansNegativePrompt) {
  const std::string negative = Umt5TextEncoder(tiny_umt5_encoder(), byte_tokens(), 6).negative_prompt();
  EXPECT_TRUE(negative.starts_with("色调艳丽，过曝，静态，"));
  EXPECT_TRUE(negative.ends_with("三条腿，背景人很多，倒着走"));
  size_t phrases = 1;
  for (size_t at = 0; (at = negative.find("，", at)) != std::string::npos; ++at) ++phrases;
  EXPECT_EQ(phrases, 28u);
}

TEST(Umt5Text, CleansBlanks) {
  EXPECT_EQ(clean_text("  a\n red \t ball "), "a red ball");
  EXPECT_EQ(clean_text(""), "");
}

TEST(Umt5Text, MistakesAreSentences) {
  auto tokens = byte_tokens();
  tokens.end = 300;
  EXPECT_SENTENCE(Umt5TextEncoder(tiny_umt5_encoder(), tokens), "the end token is 300, expected 0 to 299");
  EXPECT_SENTENCE(Umt5TextEncoder(tiny_umt5_encoder(), byte_tokens(), 0), "texts of 0 tokens");
  EXPECT_SENTENCE(Umt5TextEncoder(tiny_umt5_encoder(), byte_tokens()).encode({}), "there is no text");
}

}  // namespace
}  // namespace lact::models
