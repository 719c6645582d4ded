// Reads requests and answers them, until one asks for a WebSocket.
#pragma once

#include <array>
#include <list>
#include <memory>
#include <optional>

#include "lact/serve/http_network.h"

namespace lact::serve {

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  /// `place`: one of the limited number of connections, given back with this one.
  HttpConnection(HttpServer::Network& network, std::shared_ptr<void> place, tcp::socket socket);
  ~HttpConnection();

  void read();

  /// Closes the connection and gives its place back at once.
  void give_way();

 private:
  void leave_line();
  void answer(HttpRequest request);
  void write(const HttpResponse& answer, unsigned version, bool head, bool close);
  void ignore_rest(size_t ignored);

  HttpServer::Network& network_;
  std::shared_ptr<void> place_;
  std::optional<std::list<HttpConnection*>::iterator> in_line_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> response_;
  std::array<char, 4096> rest_;
};

}  // namespace lact::serve
