#include "lact/tasks/lm/serving/api_keys.h"

#include <algorithm>
#include <fstream>

#include "lact/base/error.h"

namespace lact::tasks::lm {

namespace {

constexpr size_t kLongestKey = 1000;

/// "Bearer abc" -> "abc"; the scheme in any case.
std::string_view bearer_token(std::string_view header) {
  constexpr std::string_view scheme = "bearer ";
  if (header.size() < scheme.size()) return {};
  for (size_t i = 0; i < scheme.size(); ++i) {
    const char c = header[i] >= 'A' && header[i] <= 'Z' ? char(header[i] - 'A' + 'a') : header[i];
    if (c != scheme[i]) return {};
  }
  return header.substr(scheme.size());
}

}  // namespace

bool equal_in_constant_time(std::string_view given, std::string_view secret) {
  volatile unsigned char difference = given.size() == secret.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i) {
    const char other = secret.empty() ? '\0' : secret[i % secret.size()];
    difference = static_cast<unsigned char>(difference | (given[i] ^ other));
  }
  return difference == 0;
}

ApiKeys::ApiKeys(std::vector<std::string> keys) : keys_(std::move(keys)) {
  for (const std::string& key : keys_) {
    const bool carries = !key.empty() && key.size() <= kLongestKey &&
                         std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < 127; });
    LACT_CHECK(carries, "[serve] an API key has to be 1 to {} visible characters without blanks",
               kLongestKey);
  }
}

bool ApiKeys::allow(const serve::HttpRequest& request) const {
  if (keys_.empty()) return true;
  const std::string& plain = request.header("x-api-key");
  const std::string_view given = plain.empty() ? bearer_token(request.header("authorization")) : plain;
  bool known = false;
  for (const std::string& key : keys_) known = equal_in_constant_time(given, key) || known;
  return known;
}

std::vector<std::string> read_api_keys(const std::string& file) {
  std::ifstream stream(file);
  LACT_CHECK(stream.good(), "{}: the file of API keys cannot be read", file);
  std::vector<std::string> keys;
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty() && line.front() != '#') keys.push_back(line);
  }
  LACT_CHECK(!keys.empty(), "{}: holds no API key", file);
  return keys;
}

}  // namespace lact::tasks::lm
