#include "lact/serve/same_site.h"

#include <arpa/inet.h>

#include <algorithm>

namespace lact::serve {

namespace {

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_address(const std::string& host) {
  in6_addr unused;
  return inet_pton(AF_INET, host.c_str(), &unused) == 1 || inet_pton(AF_INET6, host.c_str(), &unused) == 1;
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

}  // namespace

std::string host_of(std::string_view header) {
  std::string_view host = header, rest;
  if (header.starts_with('[')) {
    const size_t end = header.find(']');
    if (end == std::string_view::npos) return "";
    host = header.substr(1, end - 1);
    rest = header.substr(end + 1);
  } else if (const size_t colon = header.find(':'); colon != std::string_view::npos) {
    host = header.substr(0, colon);
    rest = header.substr(colon);
  }
  if (!rest.empty() && !(rest.starts_with(':') && is_port(rest.substr(1)))) return "";
  return lower_case(host);
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || (host.starts_with("127.") && is_address(host));
}

bool host_is_ours(std::string_view header, const std::string& listening,
                  const std::vector<std::string>& further_names) {
  const std::string host = host_of(header);
  if (host.empty()) return false;
  if (host == "localhost" || host == lower_case(listening) || is_address(host)) return true;
  const auto is_this = [&](const std::string& name) { return lower_case(name) == host; };
  return std::any_of(further_names.begin(), further_names.end(), is_this);
}

bool origin_is_ours(std::string_view origin, std::string_view host_header) {
  return origin.empty() || lower_case(origin) == "http://" + lower_case(host_header);
}

bool origin_is_listed(std::string_view origin, const std::vector<std::string>& origins) {
  if (origin.empty() || origin == "null") return false;
  const auto is_this = [&](const std::string& listed) {
    return listed == "*" || lower_case(listed) == lower_case(origin);
  };
  return std::any_of(origins.begin(), origins.end(), is_this);
}

}  // namespace lact::serve
