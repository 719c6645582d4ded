#include "lact/eval/markup.h"

#include <map>
#include <nlohmann/json.hpp>

namespace lact::eval {

std::string escaped_markup(const std::string& text) {
  static const std::map<char, std::string> kEntities = {
      {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
  // Invalid UTF-8 would make a document unreadable or a browser guess; the JSON writer replaces it.
  using Json = nlohmann::json;
  const std::string valid = Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace));
  std::string escaped;
  for (const char c : valid) {
    const bool control = (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7F;
    const auto entity = kEntities.find(c);
    escaped += entity != kEntities.end() ? entity->second : std::string(1, control ? ' ' : c);
  }
  return escaped;
}

}  // namespace lact::eval
