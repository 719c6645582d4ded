// Options of a verb from the fields of a config struct: names, help texts and defaults are stated once, in
// the struct.
#pragma once

#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lact/base/options.h"
#include "lact/cli/numbers.h"

namespace lact::cli {

/// "rate_floor" -> "--rate-floor"
inline std::string option_name(std::string field) {
  std::replace(field.begin(), field.end(), '_', '-');
  return "--" + field;
}

/// By the name of a field.
using FieldLimits = std::map<std::string_view, Limits>;

/// Adds one option per field of `value`, and of structs inside it, but for those that `without` names;
/// `value` must live until the program has been parsed. `group` "": among the verb's own options.
/// Numbers have the usual limits unless `limits` names others; seeds are free.
template <options::Struct T>
void add_fields(CLI::App& verb, T& value, const std::string& group = "",
                const std::vector<std::string_view>& without = {}, const FieldLimits& limits = {}) {
  value.visit([&](const char* name, auto& field, const char* help) {
    using Field = std::remove_reference_t<decltype(field)>;
    CLI::Option* option = nullptr;
    if (std::find(without.begin(), without.end(), name) != without.end()) return;
    if constexpr (options::Struct<Field>) {
      add_fields(verb, field, group, without, limits);
      return;
    } else if constexpr (std::is_same_v<Field, bool>) {
      const std::string plain = option_name(name);
      option = verb.add_flag(plain + ",!--no-" + plain.substr(2), field, help);
    } else if constexpr (std::is_enum_v<Field> || options::Textual<Field>) {
      option = verb.add_option_function<std::string>(
          option_name(name),
          [&field, path = std::string(name)](const std::string& word) {
            options::read(options::Json(word), field, path);
          },
          help);
      option->default_str(options::write(field).template get<std::string>());
    } else if constexpr (kIsNumber<Field>) {
      const auto found = limits.find(name);
      std::optional<Limits> own;
      if (found != limits.end()) own = found->second;
      if (std::string_view(name) == "seed") own = kAny;
      option = add_number(verb, option_name(name), field, help, own)->capture_default_str();
    } else {
      option = verb.add_option(option_name(name), field, help)->capture_default_str();
    }
    if (!group.empty()) option->group(group);
  });
}

}  // namespace lact::cli
