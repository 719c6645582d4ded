// JSON from outside. Values may lie 64 deep, no deeper: comparing, copying and writing JSON recurse, so that
// a nest of brackets would end the program.
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace lact {

inline constexpr int kDeepestJson = 64;

/// Throws lact::Error that begins with `name`, for what is no JSON, or too deep.
nlohmann::ordered_json parse_json(std::string_view text, const std::string& name);

/// Nothing for what is no JSON, or too deep.
std::optional<nlohmann::ordered_json> try_parse_json(std::string_view text);

/// The value on one line for a sentence, cut after about 60 bytes; bytes that are no UTF-8 are replaced.
std::string shown_json(const nlohmann::ordered_json& value);

}  // namespace lact
