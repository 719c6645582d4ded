// The fields of a JSON object from a client, taken one by one; what nobody takes is a mistake.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lact/tasks/lm/serving/api_error.h"

namespace lact::tasks::lm {

/// A field that is null counts as absent, as clients send it. Every mistake is an ApiError of status 400 that
/// names the field. The object must outlive this.
class RequestFields {
 public:
  /// `what` names the object in sentences: "the request", "messages[2]".
  RequestFields(const ApiJson& object, std::string what);

  /// Null where it is absent.
  const ApiJson* find(const char* name);

  int64_t whole(const char* name, int64_t otherwise, int64_t least, int64_t most);
  double real(const char* name, double otherwise, double least, double most);
  bool flag(const char* name, bool otherwise);
  std::string text(const char* name, const std::string& otherwise = "");
  std::string required_text(const char* name);

  /// Fields that change nothing about the answer, whatever they are.
  void ignore(std::initializer_list<const char*> names);
  /// A feature that is not here: absent, or one of the values that switch it off.
  void without(const char* name, std::initializer_list<ApiJson> off);

  /// Refuses what was not taken, naming the field that was perhaps meant.
  void finish() const;

 private:
  const ApiJson& object_;
  std::string what_;
  std::vector<std::string> known_;
};

/// The body of a request as a JSON object.
ApiJson parse_body(const std::string& body);

}  // namespace lact::tasks::lm
