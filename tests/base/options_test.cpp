#include "lact/base/options.h"

#include <fstream>

#include "lact/mixers/lact/lact.h"
#include "support/errors.h"

namespace lact::options {
namespace {

enum class Colour { red, blue };
constexpr std::array<std::pair<Colour, std::string_view>, 2> enum_names(Colour) {
  return {{{Colour::red, "red"}, {Colour::blue, "blue"}}};
}

struct Inner {
  int64_t count = 3;
  double rate = 0.5;
  template <class Visitor>
  void visit(Visitor&& field) {
    field("count", count, "how many");
    field("rate", rate, "how fast");
  }
  bool operator==(const Inner&) const = default;
};

struct Outer {
  Inner inner;
  bool on = false;
  std::string name = "x";
  Colour colour = Colour::red;
  std::vector<int64_t> sizes = {1, 2};
  std::optional<Inner> maybe;
  template <class Visitor>
  void visit(Visitor&& field) {
    field("inner", inner, "a part");
    field("on", on, "a switch");
    field("name", name, "a word");
    field("colour", colour, "one of a few");
    field("sizes", sizes, "a list");
    field("maybe", maybe, "or null");
  }
  bool operator==(const Outer&) const = default;
};

Outer parsed(const std::string& text) {
  Outer value;
  read(Json::parse(text), value);
  return value;
}

TEST(Options, EverythingSurvivesARoundTrip) {
  Outer value;
  value.inner = {7, 0.25};
  value.on = true;
  value.name = "ü\"";
  value.colour = Colour::blue;
  value.sizes = {};
  value.maybe = Inner{1, 2};
  EXPECT_EQ(parsed(write(value).dump()), value);
  EXPECT_EQ(parsed(write(Outer{}).dump()), Outer{});
}

TEST(Options, FieldsThatAreNotMentionedKeepTheirValues) {
  const Outer value = parsed(R"({"inner": {"rate": 2}})");
  EXPECT_EQ(value.inner, (Inner{3, 2}));
  EXPECT_EQ(value.name, "x");
}

TEST(Options, RealConfigsRoundTrip) {
  ttt::LactConfig config;
  config.update.muon = true;
  config.prepare_qk = {ttt::Preparation::rope, ttt::Preparation::silu};
  ttt::LactConfig copy;
  read(write(config), copy);
  EXPECT_EQ(copy, config);
}

TEST(Options, WholeNumbersThatDoNotFitAreRefusedAndNeverWrap) {
  EXPECT_EQ(parsed(R"({"inner": {"count": 9223372036854775807}})").inner.count, INT64_MAX);
  EXPECT_EQ(parsed(R"({"inner": {"count": -9223372036854775808}})").inner.count, INT64_MIN);
  for (const char* number : {"9223372036854775808", "18446744073709551615"}) {
    EXPECT_SENTENCE(parsed(fmt::format(R"({{"inner": {{"count": {}}}}})", number)),
                    fmt::format("inner.count is {}, expected a whole number from -9223372036854775808 to "
                                "9223372036854775807",
                                number));
  }
  EXPECT_SENTENCE(parsed(R"({"sizes": [1, 18446744073709551616]})"), "sizes.1 is 1.8446744073709552e+19");
  int32_t narrow = 5;
  EXPECT_SENTENCE(read(Json(int64_t(1) << 31), narrow, "narrow"), "to 2147483647");
  uint64_t seed = 5;
  EXPECT_SENTENCE(read(Json(-1), seed, "seed"), "seed is -1, expected a whole number from 0 to");
  read(Json(UINT64_MAX), seed);
  EXPECT_EQ(seed, UINT64_MAX);
}

TEST(Options, UnknownKeysNameTheNearestRealOne) {
  EXPECT_SENTENCE(parsed(R"({"inner": {"cuont": 4}})"),
                  "unknown option inner.cuont; did you mean inner.count?");
  EXPECT_SENTENCE(parsed(R"({"zzzzzzzz": 4})"), "known here: inner, on, name, colour, sizes, maybe");
}

TEST(Options, WrongTypesNameTheField) {
  EXPECT_SENTENCE(parsed(R"({"inner": {"count": "four"}})"),
                  "inner.count is \"four\", expected a whole number");
  EXPECT_SENTENCE(parsed(R"({"inner": {"count": 1.5}})"), "expected a whole number");
  EXPECT_SENTENCE(parsed(R"({"inner": 4})"), "inner is 4, expected an object");
  EXPECT_SENTENCE(parsed(R"({"on": 1})"), "on is 1, expected true or false");
  EXPECT_SENTENCE(parsed(R"({"colour": "green"})"), "colour is \"green\", expected one of red, blue");
  EXPECT_SENTENCE(parsed(R"({"sizes": [1, "b"]})"), "sizes.1 is \"b\", expected a whole number");
  EXPECT_SENTENCE(parsed(R"([])"), "the config is [], expected an object");
}

TEST(Options, AssignmentsReachNestedFields) {
  Outer value;
  for (const char* assignment : {"inner.count=9", "name=hello", "colour=blue", "sizes=[4]", "on=true"}) {
    read(parse_assignment(assignment), value);
  }
  EXPECT_EQ(value.inner.count, 9);
  EXPECT_EQ(value.name, "hello");
  EXPECT_EQ(value.colour, Colour::blue);
  EXPECT_EQ(value.sizes, (std::vector<int64_t>{4}));
  EXPECT_TRUE(value.on);
  EXPECT_SENTENCE(parse_assignment("novalue"), "is not of the form name=value");
}

TEST(Options, AnAssignmentNeedsAName) {
  EXPECT_SENTENCE(parse_assignment("=3"), "\"=3\" is not of the form name=value");
}

TEST(Options, DescriptionListsEveryLeafWithItsDefault) {
  const auto rows = describe(Outer{});
  ASSERT_EQ(rows.size(), 7u);
  EXPECT_EQ(rows[0].path, "inner.count");
  EXPECT_EQ(rows[0].type_default, "3");
  EXPECT_EQ(rows[0].help, "how many");
}

TEST(Options, BrokenFilesNameTheFile) {
  EXPECT_SENTENCE(read_json_file("/nowhere/x.json"), "/nowhere/x.json: cannot be opened");
  const std::string path = ::testing::TempDir() + "broken.json";
  std::ofstream(path) << "{\"a\": ";
  EXPECT_SENTENCE(read_json_file(path), "broken.json: not valid JSON at byte");
}

}  // namespace
}  // namespace lact::options
