// What the server's parts share: one thread, its limits and handlers, the listening port and the open
// WebSockets.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <list>
#include <map>
#include <thread>

#include "lact/serve/http_exchange.h"
#include "lact/serve/http_server.h"

namespace lact::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using asio::ip::tcp;
using beast::error_code;
using Upgrade = http::request<http::string_body>;

class HttpConnection;
class HttpSocket;

/// Everything runs on its one thread, apart from construction, destruction and send().
class HttpServer::Network {
 public:
  Network(ServerOptions options, ServerHandlers handlers);
  ~Network();

  void start();

  const ServerOptions& options() const { return options_; }
  const ServerHandlers& handlers() const { return handlers_; }
  const tcp::endpoint& endpoint() const { return endpoint_; }
  const std::shared_ptr<ServerThread>& thread() const { return way_; }

  /// From any thread.
  void send(Peer peer, std::string message, bool binary);

  Peer new_peer() { return next_peer_++; }
  void add(Peer peer, const std::shared_ptr<HttpSocket>& socket) { sockets_[peer] = socket; }
  void remove(Peer peer) { sockets_.erase(peer); }

  /// The connections without a WebSocket, the one whose last request lies longest ago first.
  std::list<HttpConnection*>& line() { return line_; }

  /// Held while a body of so many bytes is received and its request answered; null: there are too many.
  std::shared_ptr<void> share_of_bodies(size_t bytes);

 private:
  void run();
  void accept();
  void admit(tcp::socket socket);

  // The order matters: connections, which io_ owns, count themselves out when it is destroyed.
  ServerOptions options_;
  ServerHandlers handlers_;
  tcp::endpoint endpoint_;
  int num_connections_ = 0;
  size_t body_bytes_ = 0;
  std::list<HttpConnection*> line_;
  Peer next_peer_ = 1;
  std::map<Peer, std::weak_ptr<HttpSocket>> sockets_;
  asio::io_context io_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  std::shared_ptr<ServerThread> way_ = std::make_shared<ServerThread>(io_);
  std::thread thread_;
};

}  // namespace lact::serve
