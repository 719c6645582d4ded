// Talks to a server of ours: bytes over a plain connection, and WebSocket messages.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <stdexcept>
#include <string>

namespace lact::testing {

/// A connection that is used byte by byte, as someone with bad intentions would.
class PlainConnection {
 public:
  explicit PlainConnection(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval patience{10, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
      throw std::runtime_error("cannot connect");
    }
  }
  ~PlainConnection() { ::close(socket_); }
  PlainConnection(const PlainConnection&) = delete;
  PlainConnection& operator=(const PlainConnection&) = delete;

  /// How much the other side took before it closed the connection.
  size_t send(const std::string& bytes) {
    size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t count = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) break;
      sent += static_cast<size_t>(count);
    }
    return sent;
  }

  /// Everything up to `end`, or until the other side closes.
  std::string receive_until(const std::string& end) {
    std::string all;
    char piece[4096];
    while (all.find(end) == std::string::npos) {
      const ssize_t count = ::recv(socket_, piece, sizeof(piece), 0);
      if (count <= 0) break;
      all.append(piece, size_t(count));
    }
    return all;
  }

  /// Everything until the other side closes.
  std::string receive_all() {
    std::string all;
    char piece[4096];
    for (ssize_t count; (count = ::recv(socket_, piece, sizeof(piece), 0)) > 0;) all.append(piece, count);
    return all;
  }

 private:
  int socket_;
};

/// "HTTP/1.1 200 OK..." of a request that asks to close the connection.
inline std::string http_get(int port, const std::string& path,
                            const std::string& headers = "Host: 127.0.0.1\r\n",
                            const std::string& method = "GET") {
  PlainConnection connection(port);
  connection.send(method + " " + path + " HTTP/1.1\r\n" + headers + "Connection: close\r\n\r\n");
  return connection.receive_all();
}

class WebSocketClient {
 public:
  explicit WebSocketClient(int port, const std::string& path = "/frames", const std::string& origin = "")
      : stream_(io_) {
    namespace beast = boost::beast;
    const auto loopback = boost::asio::ip::address_v4::loopback();
    stream_.next_layer().connect({loopback, static_cast<uint16_t>(port)});
    if (!origin.empty()) {
      stream_.set_option(
          beast::websocket::stream_base::decorator([origin](beast::websocket::request_type& request) {
            request.set(beast::http::field::origin, origin);
          }));
    }
    stream_.handshake("127.0.0.1:" + std::to_string(port), path);
  }

  void send(const std::string& message) {
    stream_.text(true);
    stream_.write(boost::asio::buffer(message));
  }

  /// The next message; `binary()` tells its kind. Throws when the connection was closed.
  std::string receive() {
    boost::beast::flat_buffer buffer;
    stream_.read(buffer);
    return boost::beast::buffers_to_string(buffer.data());
  }
  bool binary() const { return stream_.got_binary(); }

  void close() { stream_.close(boost::beast::websocket::close_code::normal); }

 private:
  boost::asio::io_context io_;
  boost::beast::websocket::stream<boost::asio::ip::tcp::socket> stream_;
};

}  // namespace lact::testing
