// One open WebSocket: messages come and go as they are.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "lact/serve/http_network.h"

namespace lact::serve {

class HttpSocket : public std::enable_shared_from_this<HttpSocket> {
 public:
  /// `place`: one of the limited number of connections, given back with the socket.
  HttpSocket(HttpServer::Network& network, std::shared_ptr<void> place, beast::tcp_stream stream);

  void open(const Upgrade& request);

  /// A peer that leaves too many messages unread is dropped.
  void send(std::string message, bool binary);

 private:
  void read();
  void write();
  void drop();
  void end();

  HttpServer::Network& network_;
  std::shared_ptr<void> place_;
  websocket::stream<beast::tcp_stream> stream_;
  beast::flat_buffer buffer_;
  std::deque<std::pair<std::string, bool>>
      unsent_;  ///< message, whether it is binary; the first one is being written
  Peer peer_;
  bool ended_ = false;
};

}  // namespace lact::serve
