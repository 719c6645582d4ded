#include "lact/data/text/utf8.h"
#include "lact/tasks/lm/serving/request_fields.h"
#include "lact/tasks/lm/serving/routes.h"

namespace lact::tasks::lm {

namespace {

/// A token's text, or its bytes where they are no text by themselves.
ApiJson piece_json(const data::Tokenizer& tokenizer, int64_t token) {
  const std::string bytes =
      token < tokenizer.vocabulary_size() ? tokenizer.token_bytes(int32_t(token)) : std::string();
  if (!data::find_invalid_utf8(bytes)) return bytes;
  ApiJson list = ApiJson::array();
  for (const char byte : bytes) list.push_back(int(uint8_t(byte)));
  return list;
}

serve::HttpResponse tokenize(const ServingParts& parts, const serve::HttpRequest& request) {
  const ApiJson body = parse_body(request.body);
  RequestFields fields(body, "the request");
  const std::string content = fields.required_text("content");
  const bool with_pieces = fields.flag("with_pieces", false);
  // No token is added for the beginning of a text, and none is spelled out in a text.
  fields.ignore({"add_special"});
  fields.without("parse_special", {false});
  const bool continues = fields.flag("continues", false);
  fields.finish();
  if (const auto place = data::find_invalid_utf8(content)) {
    refuse_request(400, "content is not UTF-8 at byte {}", *place);
  }
  ApiJson tokens = ApiJson::array();
  for (const int64_t token : encoded(parts.lm, content, continues)) {
    if (with_pieces) {
      tokens.push_back({{"id", token}, {"piece", piece_json(*parts.lm.tokenizer, token)}});
    } else {
      tokens.push_back(token);
    }
  }
  return json_response({{"tokens", std::move(tokens)}});
}

serve::HttpResponse detokenize(const ServingParts& parts, const serve::HttpRequest& request) {
  const ApiJson body = parse_body(request.body);
  RequestFields fields(body, "the request");
  const ApiJson* list = fields.find("tokens");
  if (list == nullptr) refuse_request(400, "the request has no \"tokens\"");
  fields.finish();
  const auto tokens = parse_token_list(*list, "tokens", parts.lm.tokenizer->vocabulary_size());
  return json_response({{"content", parts.lm.tokenizer->decode({tokens.begin(), tokens.end()})}});
}

}  // namespace

std::vector<Route> token_routes(ServingParts& parts) {
  return {at_once("POST", "/tokenize",
                  [&parts](const auto& request, const PathParts&) { return tokenize(parts, request); }),
          at_once("POST", "/detokenize",
                  [&parts](const auto& request, const PathParts&) { return detokenize(parts, request); })};
}

}  // namespace lact::tasks::lm
