#include "lact/reproduce/step_words.h"

#include <algorithm>
#include <cctype>

#include "lact/base/error.h"

namespace lact::reproduce {

namespace {

std::string known_part(std::string id, const std::function<bool(const std::string&)>& is_step) {
  const std::string whole = id;
  while (id != kOwnFolder && !is_step(id)) {
    const size_t dot = id.rfind('.');
    LACT_CHECK(dot != std::string::npos && dot > 0, "[reproduce] \"@{}\" names no step", whole);
    id.resize(dot);
  }
  return id;
}

bool is_plain(char letter) {
  return is_id_letter(letter) || std::string_view("/=:,+%@").find(letter) != std::string_view::npos;
}

}  // namespace

bool is_id_letter(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '-' ||
         letter == '.';
}

Words with_places(const Words& words, const std::function<bool(const std::string& id)>& is_step,
                  const std::function<std::string(const std::string& id)>& place) {
  Words result;
  for (const auto& word : words) {
    std::string replaced;
    for (size_t i = 0; i < word.size();) {
      size_t end = i + 1;
      while (word[i] == '@' && end < word.size() && is_id_letter(word[end])) ++end;
      if (end == i + 1) {
        replaced += word[i++];
        continue;
      }
      const std::string id = known_part(word.substr(i + 1, end - i - 1), is_step);
      replaced += place(id);
      i += 1 + id.size();
    }
    result.push_back(std::move(replaced));
  }
  return result;
}

std::vector<std::string> named_steps(const Words& words,
                                     const std::function<bool(const std::string& id)>& is_step) {
  std::vector<std::string> ids;
  with_places(words, is_step, [&](const std::string& id) {
    if (id != kOwnFolder && std::count(ids.begin(), ids.end(), id) == 0) ids.push_back(id);
    return id;
  });
  return ids;
}

std::string shell_line(const Words& words) {
  std::string line;
  for (const auto& word : words) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char letter : word) line += letter == '\'' ? "'\\''" : std::string(1, letter);
    line += '\'';
  }
  return line;
}

}  // namespace lact::reproduce
