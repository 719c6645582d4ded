#include "lact/base/json_text.h"

#include "lact/base/error.h"
#include "lact/base/progress.h"

namespace lact {

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr size_t kLongestShownJson = 60, kMostShownEntries = 32;

struct TooDeep {};

/// Throws TooDeep, or what the library throws.
OrderedJson parse_shallow(std::string_view text) {
  const auto look = [](int depth, OrderedJson::parse_event_t, OrderedJson&) {
    if (depth > kDeepestJson) throw TooDeep{};
    return true;
  };
  return OrderedJson::parse(text, look);
}

}  // namespace

OrderedJson parse_json(std::string_view text, const std::string& name) {
  try {
    return parse_shallow(text);
  } catch (const TooDeep&) {
    fail("{}: its JSON is nested more than {} deep", name, kDeepestJson);
  } catch (const nlohmann::json::parse_error& error) {
    fail("{}: not valid JSON at byte {}", name, error.byte);
  } catch (const nlohmann::json::exception&) {
    fail("{}: not valid JSON", name);
  }
}

std::optional<OrderedJson> try_parse_json(std::string_view text) {
  try {
    return parse_shallow(text);
  } catch (const TooDeep&) {
    return std::nullopt;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

std::string shown_json(const OrderedJson& value) {
  if (value.is_structured() && value.size() > kMostShownEntries)
    return fmt::format("{} of {} entries", value.is_array() ? "a list" : "an object", value.size());
  const std::string text = value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  const std::string cut = truncate_characters(text, kLongestShownJson);
  return cut.size() < text.size() ? cut + "..." : text;
}

}  // namespace lact
