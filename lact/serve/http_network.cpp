#include "lact/serve/http_network.h"

#include <fcntl.h>

#include <boost/asio/post.hpp>
#include <utility>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/serve/http_connection.h"
#include "lact/serve/http_socket.h"

namespace lact::serve {

namespace {

constexpr std::chrono::milliseconds kPauseAfterAcceptError{100};

tcp::endpoint endpoint_of(const ServerOptions& options) {
  LACT_CHECK(options.port >= 0 && options.port <= 65535, "[serve] --port is {}, expected 0 to 65535",
             options.port);
  error_code error;
  const auto address =
      asio::ip::make_address(options.host == "localhost" ? "127.0.0.1" : options.host.c_str(), error);
  LACT_CHECK(!error, "[serve] --host is \"{}\", expected an address of this machine such as 127.0.0.1",
             options.host);
  return {address, static_cast<uint16_t>(options.port)};
}

}  // namespace

HttpServer::Network::Network(ServerOptions options, ServerHandlers handlers)
    : options_(std::move(options)), handlers_(std::move(handlers)), acceptor_(io_), pause_(io_) {
  const tcp::endpoint endpoint = endpoint_of(options_);
  try {
    acceptor_.open(endpoint.protocol());
    // A program that we start must not keep the port.
    ::fcntl(acceptor_.native_handle(), F_SETFD, FD_CLOEXEC);
    acceptor_.set_option(asio::socket_base::reuse_address(true));
    acceptor_.bind(endpoint);
    acceptor_.listen();
    endpoint_ = acceptor_.local_endpoint();
  } catch (const boost::system::system_error& error) {
    fail("[serve] cannot listen on {} port {}: {}", options_.host, options_.port, error.code().message());
  }
}

HttpServer::Network::~Network() {
  way_->end();
  io_.stop();
  if (thread_.joinable()) thread_.join();
}

void HttpServer::Network::start() {
  accept();
  thread_ = std::thread([this] { run(); });
}

void HttpServer::Network::run() {
  while (!io_.stopped()) {
    try {
      io_.run();
    } catch (const std::exception& error) {
      log::error("[serve] a connection failed: {}", error.what());
    }
  }
}

void HttpServer::Network::accept() {
  acceptor_.async_accept([this](error_code error, tcp::socket socket) {
    if (!error) {
      admit(std::move(socket));
      return accept();
    }
    // Out of file handles, most likely: trying again at once would use a whole core.
    pause_.expires_after(kPauseAfterAcceptError);
    pause_.async_wait([this](error_code stopped) {
      if (!stopped) accept();
    });
  });
}

void HttpServer::Network::admit(tcp::socket socket) {
  error_code ignored;
  // Who is idle or slow gives way. A client that is served at once is never the first in line.
  if (num_connections_ >= options_.connections && !line_.empty()) line_.front()->give_way();
  if (num_connections_ >= options_.connections) {
    const std::string answer =
        "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(answer), ignored);
    socket.shutdown(tcp::socket::shutdown_send, ignored);
    return;
  }
  socket.set_option(tcp::no_delay(true), ignored);
  ++num_connections_;
  std::shared_ptr<void> place(nullptr, [this](void*) { --num_connections_; });
  std::make_shared<HttpConnection>(*this, std::move(place), std::move(socket))->read();
}

std::shared_ptr<void> HttpServer::Network::share_of_bodies(size_t bytes) {
  if (bytes > options_.all_body_bytes - body_bytes_) return nullptr;
  body_bytes_ += bytes;
  return {this, [bytes](Network* network) { network->body_bytes_ -= bytes; }};
}

void HttpServer::Network::send(Peer peer, std::string message, bool binary) {
  asio::post(io_, [this, peer, message = std::move(message), binary]() mutable {
    const auto found = sockets_.find(peer);
    if (found == sockets_.end()) return;
    if (const auto socket = found->second.lock()) socket->send(std::move(message), binary);
  });
}

}  // namespace lact::serve
