// A small HTTP and WebSocket server for pages of our own. It runs on one thread of its own and takes nothing
// on trust: sizes, times and the number of connections are limited, and only its own page may talk to it
// (same_site.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace lact::serve {

struct ServerOptions {
  std::string host = "127.0.0.1";  ///< an address of this machine, or "localhost"
  int port = 0;                    ///< 0: any free one
  size_t header_bytes = 8 << 10;
  size_t body_bytes = 64 << 10;
  size_t message_bytes = 16 << 10;  ///< of one WebSocket message that is received
  int connections = 32;  ///< at the same time; for a new one the idlest gives way, but no open WebSocket
  std::chrono::milliseconds request_timeout{10'000};  ///< to receive a request, or between two of them
  std::chrono::milliseconds silent_timeout{
      60'000};  ///< a WebSocket peer that does not even answer pings is dropped
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8", body;
};

using Peer = uint64_t;  ///< one open WebSocket; numbers are never used twice

/// All of them are called on the server's thread, so they must be quick.
struct ServerHandlers {
  std::function<HttpResponse(const std::string& path)> get;
  std::function<bool(const std::string& path)> accepts_socket;  ///< whether there is a WebSocket at this path
  std::function<void(Peer)> opened, closed;
  std::function<void(Peer, std::string message)> received;
  std::function<void(Peer)> sent_all;  ///< everything given to send() has been handed to the network
};

class HttpServer {
 public:
  /// A port that is taken or an address that is not ours is an error.
  HttpServer(ServerOptions options, ServerHandlers handlers);
  /// Closes every connection; no handler runs afterwards.
  ~HttpServer();

  /// Handlers are called from now on.
  void start();

  int port() const;
  /// "http://127.0.0.1:8080/"
  std::string url() const;

  /// From any thread. Does nothing if the peer has gone.
  void send_text(Peer peer, std::string message);
  void send_binary(Peer peer, std::string message);

  class Network;

 private:
  std::unique_ptr<Network> network_;
};

}  // namespace lact::serve
