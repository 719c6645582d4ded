#include "lact/tasks/lm/serving/generation.h"
#include "lact/tasks/lm/serving/routes.h"

namespace lact::tasks::lm {

std::vector<Route> generation_routes(ServingParts& parts) {
  const auto generate = [&parts](const char* path, Dialect dialect) {
    return Route{"POST", path, [&parts, dialect](const auto& request, const PathParts&, const auto& reply) {
                   auto wish = parse_generation(dialect, parse_body(request.body), parts.limits, parts.chat);
                   std::make_shared<Generation>(parts, std::move(wish), reply)->start();
                 }};
  };
  const auto apply = [&parts](const serve::HttpRequest& request, const PathParts&) {
    const ApiJson body = parse_body(request.body);
    RequestFields fields(body, "the request");
    const ApiJson* messages = fields.find("messages");
    if (messages == nullptr) refuse_request(400, "the request has no \"messages\"");
    const bool with_reply = fields.flag("add_generation_prompt", true);
    fields.ignore({"model"});
    fields.finish();
    return json_response({{"prompt", parts.chat.apply(parse_messages(*messages), with_reply)}});
  };
  return {generate("/completion", Dialect::native),          generate("/completions", Dialect::native),
          generate("/v1/completions", Dialect::completions), generate("/v1/chat/completions", Dialect::chat),
          generate("/chat/completions", Dialect::chat),      at_once("POST", "/apply-template", apply)};
}

}  // namespace lact::tasks::lm
