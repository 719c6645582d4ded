#include "lact/base/options.h"

#include <algorithm>
#include <fstream>

#include "lact/base/json_text.h"

namespace lact::options {

namespace {

constexpr size_t kMostJsonBytes = size_t(256) << 20;

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(2, word.size() / 2) + 1;
  for (const auto& candidate : candidates) {
    if (const size_t distance = edit_distance(word, candidate); distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string join(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

void wrong_value(const std::string& path, const Json& found, const std::string& expected) {
  fail("[options] {} is {}, expected {}", path.empty() ? "the config" : path, shown_json(found), expected);
}

void unknown_key(const std::string& path, const std::string& key, const std::vector<std::string>& known) {
  const std::string similar = nearest(key, known);
  if (!similar.empty())
    fail("[options] unknown option {}; did you mean {}?", join(path, key), join(path, similar));
  fail("[options] unknown option {}; known here: {}", join(path, key), fmt::join(known, ", "));
}

Json read_json_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  LACT_CHECK(file, "{}: cannot be opened for reading", path);
  std::string text;
  char block[1 << 14];
  while (file.read(block, sizeof(block)), file.gcount() > 0) {
    text.append(block, size_t(file.gcount()));
    LACT_CHECK(text.size() <= kMostJsonBytes, "{}: the file has more than {} bytes, too many for JSON", path,
               kMostJsonBytes);
  }
  return parse_json(text, path);
}

Json parse_assignment(const std::string& assignment) {
  const size_t equals = assignment.find('=');
  LACT_CHECK(equals != std::string::npos && equals > 0, "[options] \"{}\" is not of the form name=value",
             assignment);
  const std::string path = assignment.substr(0, equals);
  const std::string text = assignment.substr(equals + 1);
  Json value = try_parse_json(text).value_or(Json(text));
  size_t end = path.size();
  while (true) {
    const size_t dot = end == 0 ? std::string::npos : path.rfind('.', end - 1);
    const size_t begin = dot == std::string::npos ? 0 : dot + 1;
    Json outer = Json::object();
    outer[path.substr(begin, end - begin)] = std::move(value);
    value = std::move(outer);
    if (dot == std::string::npos) return value;
    end = dot;
  }
}

}  // namespace lact::options
