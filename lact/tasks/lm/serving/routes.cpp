#include "lact/tasks/lm/serving/routes.h"

#include <algorithm>

namespace lact::tasks::lm {

namespace {

std::vector<std::string> segments_of(const std::string& path) {
  std::vector<std::string> segments;
  for (size_t begin = 1; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    segments.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return segments;
}

}  // namespace

Route at_once(std::string method, std::string pattern,
              std::function<serve::HttpResponse(const serve::HttpRequest&, const PathParts&)> answer) {
  return {std::move(method), std::move(pattern),
          [answer = std::move(answer)](const auto& request, const auto& parts, const auto& reply) {
            reply.send(answer(request, parts));
          }};
}

std::optional<PathParts> match_path(const std::string& pattern, const std::string& path) {
  const auto expected = segments_of(pattern), found = segments_of(path);
  if (expected.size() != found.size()) return std::nullopt;
  PathParts parts;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].starts_with('{')) {
      parts[expected[i].substr(1, expected[i].size() - 2)] = found[i];
    } else if (expected[i] != found[i]) {
      return std::nullopt;
    }
  }
  return parts;
}

void Routes::add(std::vector<Route> routes) {
  for (Route& route : routes) routes_.push_back(std::move(route));
}

void Routes::answer(const serve::HttpRequest& request, const serve::HttpReply& reply) const {
  std::string allowed;
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  for (const Route& route : routes_) {
    const auto parts = match_path(route.pattern, request.path);
    if (!parts) continue;
    if (route.method == method) {
      try {
        route.answer(request, *parts, reply);
      } catch (...) {
        reply.send(response_of_current_exception());
      }
      return;
    }
    allowed += (allowed.empty() ? "" : ", ") + route.method;
  }
  if (allowed.empty()) {
    return reply.send(
        error_response(404, "There is nothing at this path; docs/server.md lists what there is."));
  }
  auto refused = error_response(405, "This path is for " + allowed + ".");
  refused.headers.emplace_back("Allow", allowed);
  reply.send(std::move(refused));
}

}  // namespace lact::tasks::lm
