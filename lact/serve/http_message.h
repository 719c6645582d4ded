// Requests and answers as handlers see them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lact::serve {

struct HttpRequest {
  std::string method;                          ///< "GET"
  std::string path;                            ///< "/slots/3", percent signs decoded; begins with a slash
  std::string query;                           ///< "action=save": what follows a question mark, as it came
  std::map<std::string, std::string> headers;  ///< names in lower case; of several with one name the last
  std::string body;

  /// "" where there is none.
  const std::string& header(const std::string& lower_case_name) const;
  /// A parameter of the query, decoded; "" where there is none.
  std::string parameter(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8", body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};  ///< further ones
};

/// "%41+b" -> "A+b"; a percent sign without two hexadecimal digits stays.
std::string percent_decoded(std::string_view text);

/// The path of a target such as "/a%20b?c=d", decoded, and what follows the question mark.
void split_target(std::string_view target, HttpRequest& request);

}  // namespace lact::serve
