// Looks up networks and losses by the name of the file that defines them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lact/base/error.h"

namespace lact::ttt {

template <class T>
using NameTable = std::map<std::string, const T& (*)()>;

template <class T>
std::vector<std::string> names(const NameTable<T>& table) {
  std::vector<std::string> all;
  for (const auto& [name, make] : table) all.push_back(name);
  return all;
}

template <class T>
const T& find(const NameTable<T>& table, const char* what, const std::string& name) {
  const auto row = table.find(name);
  LACT_CHECK(row != table.end(), "[ttt] unknown {} \"{}\"; known: {}", what, name,
             fmt::join(names(table), ", "));
  return row->second();
}

}  // namespace lact::ttt
