#include "lact/serve/http_message.h"

#include <algorithm>

namespace lact::serve {

namespace {

int hexadecimal_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

}  // namespace

const std::string& HttpRequest::header(const std::string& lower_case_name) const {
  static const std::string none;
  const auto found = headers.find(lower_case_name);
  return found == headers.end() ? none : found->second;
}

std::string HttpRequest::parameter(std::string_view name) const {
  for (std::string_view rest = query; !rest.empty();) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const size_t equals = pair.find('=');
    if (pair.substr(0, equals) != name) continue;
    return equals == std::string_view::npos ? "" : percent_decoded(pair.substr(equals + 1));
  }
  return "";
}

std::string percent_decoded(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hexadecimal_value(text[i + 1]) : -1;
    const int low = high >= 0 ? hexadecimal_value(text[i + 2]) : -1;
    if (low < 0) {
      result.push_back(text[i]);
      continue;
    }
    result.push_back(static_cast<char>(16 * high + low));
    i += 2;
  }
  return result;
}

void split_target(std::string_view target, HttpRequest& request) {
  const size_t question = target.find('?');
  request.path = percent_decoded(target.substr(0, question));
  if (question != std::string_view::npos) request.query = target.substr(question + 1);
}

}  // namespace lact::serve
