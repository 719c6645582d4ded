#include "lact/models/common/mixer_pattern.h"

#include <algorithm>
#include <sstream>

#include "lact/base/options.h"

namespace lact::models {

namespace {

constexpr int64_t kMostLayersOfARun = 1 << 12;
constexpr size_t kMostRuns = 64;

MixerKind kind_named(const std::string& word) {
  std::vector<std::string> words;
  for (const auto& [kind, name] : enum_names(MixerKind{})) {
    if (word == name) return kind;
    words.emplace_back(name);
  }
  const std::string similar = options::nearest(word, words);
  if (!similar.empty()) fail("there is no mixer \"{}\"; did you mean {}?", word, similar);
  fail("there is no mixer \"{}\", expected one of {}", word, fmt::join(words, ", "));
}

/// A whole number of digits alone, 0 if it is none or out of reach.
int64_t count_named(const std::string& word) {
  const bool digits = std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && word.size() <= 4 ? std::stoll(word) : 0;
}

}  // namespace

MixerPattern MixerPattern::parse(const std::string& text) {
  MixerPattern pattern;
  pattern.runs_.clear();
  std::istringstream parts(text + (text.ends_with(':') || text.empty() ? " " : ""));
  for (std::string part; std::getline(parts, part, ':');) {
    std::istringstream stream(part);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    LACT_CHECK(words.size() == 1 || words.size() == 2,
               "\"{}\" is not a mixer or a pattern of them such as \"3 lact : 1 full\"", text);
    const int64_t layers = words.size() == 1 ? 1 : count_named(words[0]);
    LACT_CHECK(layers >= 1 && layers <= kMostLayersOfARun,
               "\"{}\" asks for {} layers of {}, expected a number from 1 to {}", text, words[0],
               words.back(), kMostLayersOfARun);
    const MixerKind kind = kind_named(words.back());
    if (!pattern.runs_.empty() && pattern.runs_.back().kind == kind) {
      pattern.runs_.back().layers += layers;
    } else {
      pattern.runs_.push_back({layers, kind});
    }
    LACT_CHECK(pattern.runs_.size() <= kMostRuns, "a pattern of mixers has more than {} parts", kMostRuns);
  }
  if (pattern.runs_.size() == 1) pattern.runs_.front().layers = 1;
  return pattern;
}

std::string MixerPattern::text() const {
  if (runs_.size() == 1) return std::string(options::word_of(runs_.front().kind));
  std::vector<std::string> parts;
  for (const auto& [layers, kind] : runs_)
    parts.push_back(fmt::format("{} {}", layers, options::word_of(kind)));
  return fmt::format("{}", fmt::join(parts, " : "));
}

int64_t MixerPattern::period() const {
  int64_t layers = 0;
  for (const auto& run : runs_) layers += run.layers;
  return layers;
}

MixerKind MixerPattern::kind_of(int64_t layer) const {
  int64_t left = layer % period();
  for (const auto& run : runs_) {
    if (left < run.layers) return run.kind;
    left -= run.layers;
  }
  LACT_ASSERT(!"a layer is not negative");
  return runs_.front().kind;
}

std::vector<MixerKind> MixerPattern::kinds() const {
  std::vector<MixerKind> kinds;
  for (const auto& run : runs_) {
    if (std::find(kinds.begin(), kinds.end(), run.kind) == kinds.end()) kinds.push_back(run.kind);
  }
  return kinds;
}

bool MixerPattern::has(MixerKind kind) const {
  return std::any_of(runs_.begin(), runs_.end(), [kind](const Run& run) { return run.kind == kind; });
}

int64_t MixerPattern::count_of(MixerKind kind, int64_t num_layers) const {
  int64_t count = 0;
  for (int64_t layer = 0; layer < num_layers; ++layer) count += kind_of(layer) == kind ? 1 : 0;
  return count;
}

}  // namespace lact::models
