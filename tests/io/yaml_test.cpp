#include "lact/io/yaml.h"

#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::io {
namespace {

using lact::testing::TemporaryFolder;
using lact::testing::write_file;
using options::Json;

class Yaml : public ::testing::Test {
 protected:
  Json read(const std::string& text) {
    write_file(file_, text);
    return read_yaml_file(file_);
  }
  TemporaryFolder folder_;
  std::string file_ = folder_ / "config.yaml";
};

TEST_F(Yaml, MapsListsAndScalarsBecomeJson) {
  const Json found = read(R"(# sizes
dim: 768   # a comment
rate: 1e-06
share: .5
less: -3
sum: +4
on: true
off: False
none:
tilde: ~
word: lact_ttt.FastWeight
quoted: "12"
single: 'true'
inf: inf
parts:
  - type: a
    params: {x: 1, y: [1, 2, 2]}
  - type: b
flat: 
- 1
- 2
)");
  const Json expected = {
      {"dim", 768},
      {"rate", 1e-6},
      {"share", 0.5},
      {"less", -3},
      {"sum", 4},
      {"on", true},
      {"off", false},
      {"none", nullptr},
      {"tilde", nullptr},
      {"word", "lact_ttt.FastWeight"},
      {"quoted", "12"},
      {"single", "true"},
      {"inf", "inf"},
      {"parts", {{{"type", "a"}, {"params", {{"x", 1}, {"y", {1, 2, 2}}}}}, {{"type", "b"}}}},
      {"flat", {1, 2}}};
  EXPECT_EQ(found, expected);
}

TEST_F(Yaml, WhatIsNoConfigIsOneSentence) {
  EXPECT_SENTENCE(read("a: 1\nb: [1, 2\n"), "config.yaml: not valid YAML at line");
  EXPECT_SENTENCE(read("a: &x [1]\nb: *x\n"), "config.yaml: line 2 has an alias");
  EXPECT_SENTENCE(read("a: 1\na: 2\n"), "line 2 has the key a again");
  EXPECT_SENTENCE(read("[1]: 2\n"), "a list or a map as a key");
  EXPECT_SENTENCE(read("a: 1\n---\nb: 2\n"), "more than one YAML document");
  EXPECT_SENTENCE(read(std::string(65, '[') + std::string(65, ']')), "more than 64 levels");
  EXPECT_SENTENCE(read(std::string(100'000, '[')), "config.yaml");
  EXPECT_SENTENCE(read_yaml_file(folder_ / "missing.yaml"), "does not exist");
  EXPECT_TRUE(read("").is_null());
}

}  // namespace
}  // namespace lact::io
