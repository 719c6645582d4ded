#include <algorithm>
#include <cctype>

#include "lact/base/error.h"
#include "lact/base/options.h"
#include "lact/data/text/ruler.h"

namespace lact::data::ruler {

namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

const std::vector<Task>& tasks() {
  using enum Haystack;
  using enum Value;
  static const std::vector<Task> rows = {
      // name, short name, haystack, value, keys, values, queries
      {"niah_single_1", "S-NIAH-1", noise, number, 1, 1, 1},
      {"niah_single_2", "S-NIAH-2", essay, number, 1, 1, 1},
      {"niah_single_3", "S-NIAH-3", essay, uuid, 1, 1, 1},
      {"niah_multikey_1", "MK-NIAH", essay, number, 4, 1, 1},
      {"niah_multivalue", "MV-NIAH", essay, number, 1, 4, 1},
      {"niah_multiquery", "MQ-NIAH", essay, number, 4, 1, 4},
  };
  return rows;
}

const Task& task(const std::string& name) {
  const std::string wanted = lower(name);
  std::vector<std::string> names, lowered;
  for (const Task& row : tasks()) {
    for (const std::string& known : {row.name, row.short_name}) {
      names.push_back(known);
      lowered.push_back(lower(known));
      if (lowered.back() == wanted) return row;
    }
  }
  const auto similar = std::find(lowered.begin(), lowered.end(), options::nearest(wanted, lowered));
  if (similar == lowered.end()) fail("there is no task {}; there are {}", name, fmt::join(names, ", "));
  fail("there is no task {}; did you mean {}?", name, names[static_cast<size_t>(similar - lowered.begin())]);
}

}  // namespace lact::data::ruler
