#include "lact/tasks/lm/serving/api_error.h"

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/one_sentence.h"

namespace lact::tasks::lm {

namespace {

const char* type_of_status(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 408:
    case 504:
      return "timeout_error";
    case 500:
      return "server_error";
    case 501:
      return "not_supported_error";
    case 503:
    case 507:
      return "unavailable_error";
    default:
      return "invalid_request_error";
  }
}

}  // namespace

ApiJson error_json(int status, const std::string& sentence) {
  return {{"error", {{"code", status}, {"message", sentence}, {"type", type_of_status(status)}}}};
}

std::string json_line(const ApiJson& json) {
  return json.dump(-1, ' ', false, ApiJson::error_handler_t::replace);
}

serve::HttpResponse json_response(const ApiJson& json, int status) {
  return {status, "application/json; charset=utf-8", json_line(json) + "\n"};
}

serve::HttpResponse error_response(int status, const std::string& sentence) {
  auto response = json_response(error_json(status, sentence), status);
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

serve::HttpResponse response_of_current_exception() {
  try {
    throw;
  } catch (const ApiError& error) {
    return error_response(error.status(), error.what());
  } catch (const Error& error) {
    return error_response(400, error.what());
  } catch (const std::bad_alloc&) {
    return error_response(507, "There is not enough memory for this request.");
  } catch (const std::exception& error) {
    log::error("[serve] a request failed: {}", error.what());
    return error_response(500, "The request met a fault of the server.");
  }
}

}  // namespace lact::tasks::lm
