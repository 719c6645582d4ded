#include "lact/models/common/mixer_pattern.h"

#include <gtest/gtest.h>

#include "lact/base/options.h"
#include "support/errors.h"

namespace lact::models {
namespace {

TEST(MixerPattern, AWordIsTheMixerOfAllLayers) {
  for (const auto& [kind, word] : enum_names(MixerKind{})) {
    const auto pattern = MixerPattern::parse(std::string(word));
    EXPECT_EQ(pattern, MixerPattern(kind));
    EXPECT_EQ(pattern.text(), word);
    EXPECT_EQ(pattern.period(), 1);
    for (const int64_t layer : {0, 1, 17}) EXPECT_EQ(pattern.kind_of(layer), kind);
  }
}

TEST(MixerPattern, RepeatsOverTheLayers) {
  const auto pattern = MixerPattern::parse("3 lact : 1 full");
  std::string found;
  for (int64_t layer = 0; layer < 10; ++layer) found += pattern.kind_of(layer) == MixerKind::full ? 'f' : 'l';
  EXPECT_EQ(found, "lllflllfll");
  EXPECT_EQ(pattern.count_of(MixerKind::lact, 10), 8);
  EXPECT_EQ(pattern.count_of(MixerKind::full, 10), 2);
  EXPECT_EQ(pattern.count_of(MixerKind::gla, 10), 0);
  EXPECT_EQ(pattern.kinds(), (std::vector<MixerKind>{MixerKind::lact, MixerKind::full}));
  EXPECT_TRUE(pattern.has(MixerKind::full));
  EXPECT_FALSE(pattern.has(MixerKind::window));
}

TEST(MixerPattern, IsPrintedInItsShortestForm) {
  for (const auto& [text, shortest] : {std::pair{"3 lact:1 full", "3 lact : 1 full"},
                                       {" lact :full ", "1 lact : 1 full"},
                                       {"2 gla : 1 gla : window", "3 gla : 1 window"},
                                       {"4 lact", "lact"},
                                       {"1 full : 2 full", "full"},
                                       {"lact : full : lact", "1 lact : 1 full : 1 lact"}}) {
    const auto pattern = MixerPattern::parse(text);
    EXPECT_EQ(pattern.text(), shortest);
    EXPECT_EQ(MixerPattern::parse(shortest), pattern);
  }
}

TEST(MixerPattern, MistakesAreSentences) {
  EXPECT_SENTENCE(MixerPattern::parse("lacct"), "there is no mixer \"lacct\"; did you mean lact?");
  EXPECT_SENTENCE(MixerPattern::parse("transformer of ours"), "is not a mixer or a pattern of them");
  EXPECT_SENTENCE(MixerPattern::parse("x"), "there is no mixer \"x\"");
  for (const char* broken : {"", ":", "lact :", ": lact", "lact : : full", "3 : lact"}) {
    EXPECT_ANY_THROW(MixerPattern::parse(broken)) << broken;
  }
  for (const char* count : {"0", "-1", "5000", "99999999999999999999", "2.5", "two"}) {
    EXPECT_SENTENCE(MixerPattern::parse(std::string(count) + " lact : full"), "expected a number from 1 to");
  }
  std::string endless = "lact";
  for (int i = 0; i < 200; ++i) endless += ": full : lact";
  EXPECT_SENTENCE(MixerPattern::parse(endless), "more than 64 parts");
}

TEST(MixerPattern, IsATextInAConfig) {
  MixerPattern pattern;
  options::read(options::Json("1 window : 2 full"), pattern, "mixer");
  EXPECT_EQ(pattern.kind_of(1), MixerKind::full);
  EXPECT_EQ(options::write(pattern), options::Json("1 window : 2 full"));
  EXPECT_SENTENCE(options::read(options::Json(3), pattern, "mixer"), "mixer is 3, expected a string");
  EXPECT_SENTENCE(options::read(options::Json("fulll"), pattern, "mixer"),
                  "[options] mixer: there is no mixer \"fulll\"; did you mean full?");
}

}  // namespace
}  // namespace lact::models
