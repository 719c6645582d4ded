// Config structs <-> JSON, strictly. A struct lists its fields once:
//
//   struct RopeConfig {
//     int64_t head_dim = 64;
//     double base = 10000;
//     template <class Visitor> void visit(Visitor&& field) {
//       field("head_dim", head_dim, "channels of one attention head");
//       field("base", base, "longest wavelength is about 2 pi base");
//     }
//   };
//
// and defaults, help, JSON in and out and comparison come from that list. An enum gives its words by a
// function `enum_names(E)` that returns an array of {value, word}; a type with parse and text is a string of
// a form of its own (and a number, where it says that it may be one). Unknown keys and wrong types are errors
// that name the field.
#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lact/base/error.h"

namespace lact::options {

using Json = nlohmann::ordered_json;

/// The word of `candidates` closest to `word` in edit distance, or "" when none is similar.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

[[noreturn]] void wrong_value(const std::string& path, const Json& found, const std::string& expected);
[[noreturn]] void unknown_key(const std::string& path, const std::string& key,
                              const std::vector<std::string>& known);

/// "model.layers" + "count" -> "model.layers.count"
std::string join(const std::string& path, const std::string& key);

/// Parses a JSON file; a syntax error names the file and the place.
Json read_json_file(const std::string& path);

/// "model.num_layers=4" -> {"model": {"num_layers": 4}}; a value that is not JSON counts as a string.
Json parse_assignment(const std::string& assignment);

namespace detail {
struct Ignore {
  template <class T>
  void operator()(const char*, T&, const char*) const {}
};
template <class T>
struct is_vector : std::false_type {};
template <class T>
struct is_vector<std::vector<T>> : std::true_type {};
template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
}  // namespace detail

template <class T>
concept Struct = requires(T& value) {
  value.visit(detail::Ignore{});
};

/// A string in JSON: `T::parse` throws a sentence for one that means nothing.
template <class T>
concept Textual = requires(const T& value, const std::string& text) {
  { T::parse(text) } -> std::same_as<T>;
  { value.text() } -> std::same_as<std::string>;
};

/// A whole number means the same as its digits: 64 is "64".
template <class T>
concept TextualNumber = Textual<T> && requires {
  { T::kMayBeNumber } -> std::convertible_to<bool>;
};

template <class E>
std::string_view word_of(E value) {
  for (const auto& [candidate, word] : enum_names(value)) {
    if (candidate == value) return word;
  }
  LACT_ASSERT(!"every enumerator has a word");
  return {};
}

template <class T>
Json write(const T& value) {
  if constexpr (Struct<T>) {
    Json object = Json::object();
    const_cast<T&>(value).visit(
        [&](const char* name, auto& field, const char*) { object[name] = write(field); });
    return object;
  } else if constexpr (Textual<T>) {
    return value.text();
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(word_of(value));
  } else if constexpr (detail::is_vector<T>::value) {
    Json array = Json::array();
    for (const auto& item : value) array.push_back(write(item));
    return array;
  } else if constexpr (detail::is_optional<T>::value) {
    return value ? write(*value) : Json(nullptr);
  } else {
    return value;
  }
}

/// Overlays `json` on `value`: fields that are not mentioned keep what they have.
template <class T>
void read(const Json& json, T& value, const std::string& path = "") {
  if constexpr (Struct<T>) {
    if (!json.is_object()) wrong_value(path, json, "an object");
    std::vector<std::string> known;
    value.visit([&](const char* name, auto&, const char*) { known.emplace_back(name); });
    for (const auto& [key, unused] : json.items()) {
      if (std::find(known.begin(), known.end(), key) == known.end()) unknown_key(path, key, known);
    }
    value.visit([&](const char* name, auto& field, const char*) {
      if (auto found = json.find(name); found != json.end()) read(*found, field, join(path, name));
    });
  } else if constexpr (Textual<T>) {
    const bool number = TextualNumber<T> && json.is_number_integer();
    if (!json.is_string() && !number) wrong_value(path, json, "a string");
    try {
      value = T::parse(number ? json.dump() : json.template get<std::string>());
    } catch (const Error& error) {
      fail("[options] {}: {}", path, error.what());
    }
  } else if constexpr (std::is_enum_v<T>) {
    std::vector<std::string> words;
    for (const auto& [candidate, word] : enum_names(value)) {
      if (json.is_string() && json.get_ref<const std::string&>() == word) {
        value = candidate;
        return;
      }
      words.emplace_back(word);
    }
    wrong_value(path, json, fmt::format("one of {}", fmt::join(words, ", ")));
  } else if constexpr (detail::is_vector<T>::value) {
    if (!json.is_array()) wrong_value(path, json, "a list");
    T items(json.size());
    for (size_t i = 0; i < items.size(); ++i) read(json[i], items[i], join(path, std::to_string(i)));
    value = std::move(items);
  } else if constexpr (detail::is_optional<T>::value) {
    if (json.is_null()) {
      value.reset();
    } else {
      typename T::value_type inner = value.value_or(typename T::value_type{});
      read(json, inner, path);
      value = std::move(inner);
    }
  } else if constexpr (std::same_as<T, bool>) {
    if (!json.is_boolean()) wrong_value(path, json, "true or false");
    value = json.template get<bool>();
  } else if constexpr (std::integral<T>) {
    if (!json.is_number_integer()) wrong_value(path, json, "a whole number");
    // From 2^63 to 2^64 a JSON number is an unsigned one, which would become negative.
    const bool fits = json.is_number_unsigned() ? std::in_range<T>(json.template get<uint64_t>())
                                                : std::in_range<T>(json.template get<int64_t>());
    if (!fits) {
      wrong_value(path, json,
                  fmt::format("a whole number from {} to {}", std::numeric_limits<T>::min(),
                              std::numeric_limits<T>::max()));
    }
    value = json.template get<T>();
  } else if constexpr (std::floating_point<T>) {
    if (!json.is_number()) wrong_value(path, json, "a number");
    value = json.template get<T>();
  } else {
    static_assert(std::same_as<T, std::string>,
                  "a config field is a bool, number, string, enum, list or struct");
    if (!json.is_string()) wrong_value(path, json, "a string");
    value = json.template get<std::string>();
  }
}

struct Field {
  std::string path, type_default, help;
};

/// One row per leaf field, for --help and documentation.
template <Struct T>
std::vector<Field> describe(const T& value, const std::string& path = "") {
  std::vector<Field> rows;
  const_cast<T&>(value).visit([&](const char* name, auto& field, const char* help) {
    if constexpr (Struct<std::remove_reference_t<decltype(field)>>) {
      for (auto& row : describe(field, join(path, name))) rows.push_back(std::move(row));
    } else {
      rows.push_back({join(path, name), write(field).dump(), help});
    }
  });
  return rows;
}

}  // namespace lact::options
