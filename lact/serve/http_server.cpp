#include "lact/serve/http_server.h"

#include <fmt/format.h>

#include "lact/serve/http_network.h"

namespace lact::serve {

std::function<void(HttpRequest, HttpReply)> pages(std::function<HttpResponse(const std::string& path)> get) {
  return [get = std::move(get)](const HttpRequest& request, const HttpReply& reply) {
    if (request.method == "GET" || request.method == "HEAD") return reply.send(get(request.path));
    reply.send({405,
                "text/plain; charset=utf-8",
                "Only GET and HEAD are answered.\n",
                {{"Allow", "GET, HEAD"}, {"Connection", "close"}}});
  };
}

HttpServer::HttpServer(ServerOptions options, ServerHandlers handlers)
    : network_(std::make_unique<Network>(std::move(options), std::move(handlers))) {}

HttpServer::~HttpServer() = default;

void HttpServer::start() { network_->start(); }

int HttpServer::port() const { return network_->endpoint().port(); }

std::string HttpServer::url() const {
  const auto address = network_->endpoint().address();
  const std::string host = address.is_v6() ? "[" + address.to_string() + "]" : address.to_string();
  return fmt::format("http://{}:{}/", host, port());
}

void HttpServer::send_text(Peer peer, std::string message) {
  network_->send(peer, std::move(message), false);
}

void HttpServer::send_binary(Peer peer, std::string message) {
  network_->send(peer, std::move(message), true);
}

}  // namespace lact::serve
