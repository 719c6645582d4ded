// Which function answers which request.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lact/serve/http_reply.h"
#include "lact/tasks/lm/serving/serving_parts.h"

namespace lact::tasks::lm {

/// What a pattern such as "/v1/memories/{name}" found in a path.
using PathParts = std::map<std::string, std::string>;

struct Route {
  std::string method, pattern;
  /// Answers by the reply, now or later; what it throws becomes the answer.
  std::function<void(const serve::HttpRequest&, const PathParts&, const serve::HttpReply&)> answer;
};

/// A route whose answer is there at once.
Route at_once(std::string method, std::string pattern,
              std::function<serve::HttpResponse(const serve::HttpRequest&, const PathParts&)> answer);

/// The parts, if the path is of this pattern.
std::optional<PathParts> match_path(const std::string& pattern, const std::string& path);

class Routes {
 public:
  void add(std::vector<Route> routes);

  /// Finds the route and runs it; 404 and 405 where there is none.
  void answer(const serve::HttpRequest& request, const serve::HttpReply& reply) const;

 private:
  std::vector<Route> routes_;
};

/// /v1/completions, /v1/chat/completions, /completion and their other names; /apply-template.
std::vector<Route> generation_routes(ServingParts& parts);
/// /tokenize, /detokenize
std::vector<Route> token_routes(ServingParts& parts);
/// /v1/models, /props, /slots, /metrics
std::vector<Route> status_routes(ServingParts& parts);
/// /slots/ID?action=save, restore, erase
std::vector<Route> slot_routes(ServingParts& parts);
/// /v1/memories and what is below
std::vector<Route> memory_routes(ServingParts& parts);

}  // namespace lact::tasks::lm
