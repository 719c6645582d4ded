#include "lact/tasks/lm/serving/memory_reading.h"
#include "lact/tasks/lm/serving/request_fields.h"
#include "lact/tasks/lm/serving/routes.h"

namespace lact::tasks::lm {

namespace {

bool asks_to_replace(const serve::HttpRequest& request) { return request.parameter("replace") == "true"; }

/// A JSON wish, or a text as it is with the rest in the query: ?name=book&replace=true&stream=true
MemoryWish memory_wish(const serve::HttpRequest& request) {
  if (!request.header("content-type").starts_with("text/"))
    return parse_memory_wish(parse_body(request.body));
  MemoryWish wish;
  wish.name = request.parameter("name");
  wish.documents.push_back(request.body);
  wish.memory = request.parameter("memory");
  wish.replace = asks_to_replace(request);
  wish.stream = request.parameter("stream") == "true";
  return wish;
}

serve::HttpResponse list_memories(const ServingParts& parts) {
  ApiJson list = ApiJson::array();
  for (const MemoryInfo& info : parts.shelf.list()) list.push_back(memory_json(info));
  return json_response({{"object", "list"}, {"data", std::move(list)}});
}

serve::HttpResponse fork_memory(ServingParts& parts, const serve::HttpRequest& request,
                                const std::string& name) {
  const ApiJson body = parse_body(request.body);
  RequestFields fields(body, "the request");
  const std::string to = fields.required_text("to");
  const bool replace = fields.flag("replace", false);
  fields.finish();
  return json_response(memory_json(parts.shelf.put(to, parts.shelf.get(name), replace)), 201);
}

/// As if the last tokens had never been read; exact, and free inside of a chunk.
serve::HttpResponse roll_memory_back(ServingParts& parts, const serve::HttpRequest& request,
                                     const std::string& name) {
  const ApiJson body = parse_body(request.body);
  RequestFields fields(body, "the request");
  if (fields.find("tokens") == nullptr) refuse_request(400, "the request has no \"tokens\"");
  const TextState state = parts.shelf.get(name);
  const int64_t tokens = fields.whole("tokens", 0, 1, std::max<int64_t>(1, state->position()));
  fields.finish();
  const int64_t most = forgettable(state, parts.lm);
  if (tokens > most) {
    refuse_request(
        400,
        "Memory \"{}\" can forget {} tokens at most, those that were not yet written into the fast "
        "weights, but tokens is {}",
        name, most, tokens);
  }
  return json_response(memory_json(parts.shelf.put(name, rolled_back(state, tokens, parts.lm), true)));
}

serve::HttpResponse download_memory(ServingParts& parts, const std::string& name) {
  return {200,
          "application/octet-stream",
          parts.shelf.file_bytes(name),
          {{"Content-Disposition", "attachment; filename=\"" + name + ".mem\""}}};
}

}  // namespace

std::vector<Route> memory_routes(ServingParts& parts) {
  const auto create = [&parts](const auto& request, const PathParts&, const auto& reply) {
    std::make_shared<MemoryReading>(parts, memory_wish(request), reply)->start();
  };
  const auto upload = [&parts](const auto& request, const PathParts& path) {
    const bool replace = request.method == "PUT" || asks_to_replace(request);
    return json_response(memory_json(parts.shelf.put_file(path.at("name"), request.body, replace)), 201);
  };
  const auto remove = [&parts](const auto&, const PathParts& path) {
    parts.shelf.remove(path.at("name"));
    return json_response({{"object", "memory"}, {"name", path.at("name")}, {"deleted", true}});
  };
  const std::string one = "/v1/memories/{name}";
  return {at_once("GET", "/v1/memories",
                  [&parts](const auto&, const PathParts&) { return list_memories(parts); }),
          {"POST", "/v1/memories", create},
          at_once("GET", one,
                  [&parts](const auto&, const PathParts& path) {
                    return json_response(memory_json(parts.shelf.info(path.at("name"))));
                  }),
          at_once("DELETE", one, remove),
          at_once("GET", one + "/file",
                  [&parts](const auto&, const PathParts& path) {
                    return download_memory(parts, path.at("name"));
                  }),
          at_once("PUT", one + "/file", upload),
          at_once("POST", one + "/file", upload),
          at_once("POST", one + "/fork",
                  [&parts](const auto& request, const PathParts& path) {
                    return fork_memory(parts, request, path.at("name"));
                  }),
          at_once("POST", one + "/rollback", [&parts](const auto& request, const PathParts& path) {
            return roll_memory_back(parts, request, path.at("name"));
          })};
}

}  // namespace lact::tasks::lm
