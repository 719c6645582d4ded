#include "lact/serve/http_server.h"

#include <fmt/format.h>

#include "lact/serve/http_network.h"

namespace lact::serve {

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
