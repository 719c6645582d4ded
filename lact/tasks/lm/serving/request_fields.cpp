#include "lact/tasks/lm/serving/request_fields.h"

#include <algorithm>
#include <cmath>

#include "lact/base/error.h"
#include "lact/base/json_text.h"
#include "lact/data/text/utf8.h"

namespace lact::tasks::lm {

RequestFields::RequestFields(const ApiJson& object, std::string what)
    : object_(object), what_(std::move(what)) {
  if (!object_.is_object()) refuse_request(400, "{} is {}, expected an object", what_, shown_json(object_));
}

const ApiJson* RequestFields::find(const char* name) {
  known_.emplace_back(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

int64_t RequestFields::whole(const char* name, int64_t otherwise, int64_t least, int64_t most) {
  const ApiJson* value = find(name);
  if (value == nullptr) return otherwise;
  // 3.0 is a whole number to many clients.
  const bool whole = value->is_number_integer() ||
                     (value->is_number_float() && std::trunc(value->get<double>()) == value->get<double>());
  const bool fits = whole && value->get<double>() >= double(least) && value->get<double>() <= double(most) &&
                    !(value->is_number_unsigned() && value->get<uint64_t>() > uint64_t(INT64_MAX));
  if (!fits) {
    refuse_request(400, "{} is {}, expected a whole number from {} to {}", name, shown_json(*value), least,
                   most);
  }
  return value->is_number_float() ? int64_t(value->get<double>()) : value->get<int64_t>();
}

double RequestFields::real(const char* name, double otherwise, double least, double most) {
  const ApiJson* value = find(name);
  if (value == nullptr) return otherwise;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!(number >= least && number <= most)) {
    refuse_request(400, "{} is {}, expected a number from {} to {}", name, shown_json(*value), least, most);
  }
  return number;
}

bool RequestFields::flag(const char* name, bool otherwise) {
  const ApiJson* value = find(name);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) refuse_request(400, "{} is {}, expected true or false", name, shown_json(*value));
  return value->get<bool>();
}

std::string RequestFields::text(const char* name, const std::string& otherwise) {
  const ApiJson* value = find(name);
  if (value == nullptr) return otherwise;
  if (!value->is_string()) refuse_request(400, "{} is {}, expected a string", name, shown_json(*value));
  return value->get<std::string>();
}

std::string RequestFields::required_text(const char* name) {
  if (find(name) == nullptr) refuse_request(400, "{} has no \"{}\", expected a string", what_, name);
  return text(name);
}

void RequestFields::ignore(std::initializer_list<const char*> names) {
  known_.insert(known_.end(), names.begin(), names.end());
}

void RequestFields::without(const char* name, std::initializer_list<ApiJson> off) {
  const ApiJson* value = find(name);
  if (value == nullptr || std::find(off.begin(), off.end(), *value) != off.end()) return;
  if (off.size() == 0) refuse_request(400, "{} is not supported here", name);
  std::vector<std::string> shown;
  for (const ApiJson& each : off) shown.push_back(each.dump());
  refuse_request(400, "{} is {}, which is not supported here, expected {}", name, shown_json(*value),
                 fmt::join(shown, " or "));
}

void RequestFields::finish() const {
  for (const auto& [name, unused] : object_.items()) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    const std::string nearest = options::nearest(name, known_);
    const std::string shown = shown_json(ApiJson(name));
    if (nearest.empty()) refuse_request(400, "{} has an unknown field {}", what_, shown);
    refuse_request(400, "{} has an unknown field {}; \"{}\" is known", what_, shown, nearest);
  }
}

ApiJson parse_body(const std::string& body) {
  if (body.empty()) refuse_request(400, "The body is empty, expected a JSON object");
  try {
    return parse_json(body, "the body");
  } catch (const Error& error) {
    throw ApiError(400, error.what());
  }
}

}  // namespace lact::tasks::lm
