#include <algorithm>
#include <fstream>
#include <iterator>

#include "lact/base/error.h"
#include "lact/data/text/haystack.h"
#include "lact/data/text/ruler.h"

namespace lact::data::ruler {

namespace {

constexpr const char* kBlanks = " \t\r\n\v\f";

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  LACT_CHECK(file, "{}: cannot be opened for reading", path);
  std::string text(std::istreambuf_iterator<char>(file), {});
  LACT_CHECK(!file.bad(), "{}: cannot be read", path);
  LACT_CHECK(text.find_first_not_of(kBlanks) != std::string::npos, "{}: holds no words", path);
  return text;
}

/// One word per line, without the blanks around it; each word once.
std::vector<std::string> read_words(const std::string& path) {
  const std::string text = read_text(path);
  std::vector<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (const size_t first = line.find_first_not_of(kBlanks); first != std::string::npos) {
      words.push_back(line.substr(first, line.find_last_not_of(kBlanks) - first + 1));
    }
    begin = end + 1;
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

}  // namespace

const Material& material() {
  constexpr uint64_t kSeed = 42;
  constexpr int64_t kWords = 150'000;
  static const Material built_in = {data::adjectives(), data::nouns(), data::essay_text(kSeed, kWords)};
  return built_in;
}

Material read_material(const std::string& essay_path, const std::string& adjectives_path,
                       const std::string& nouns_path) {
  Material result = material();
  if (!essay_path.empty()) result.essay = read_text(essay_path);
  if (!adjectives_path.empty()) result.adjectives = read_words(adjectives_path);
  if (!nouns_path.empty()) result.nouns = read_words(nouns_path);
  return result;
}

}  // namespace lact::data::ruler
