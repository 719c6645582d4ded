// What is wrong with a request, in the form that clients of such servers know:
//   {"error": {"code": 400, "message": "temperature is -1, expected 0 to 1000", "type":
//   "invalid_request_error"}}
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

#include "lact/base/options.h"
#include "lact/serve/http_message.h"

namespace lact::tasks::lm {

using ApiJson = options::Json;

class ApiError : public std::runtime_error {
 public:
  ApiError(int status, const std::string& sentence) : std::runtime_error(sentence), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

/// ApiError with a formatted sentence.
template <class... Args>
[[noreturn]] void refuse_request(int status, fmt::format_string<Args...> sentence, Args&&... args) {
  throw ApiError(status, fmt::format(sentence, std::forward<Args>(args)...));
}

ApiJson error_json(int status, const std::string& sentence);
serve::HttpResponse error_response(int status, const std::string& sentence);
/// Bytes that are no UTF-8 are replaced.
serve::HttpResponse json_response(const ApiJson& json, int status = 200);
std::string json_line(const ApiJson& json);

/// For a catch clause: a caller's mistake is a 400, memory that is not there a 507, anything else a 500.
serve::HttpResponse response_of_current_exception();

}  // namespace lact::tasks::lm
