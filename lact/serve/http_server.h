// A small HTTP and WebSocket server for pages and programs of our own. It runs on one thread of its own and
// takes nothing on trust: sizes, times and the number of connections are limited, and of pages only its own,
// and those it was told of, may talk to it (same_site.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lact/serve/http_message.h"
#include "lact/serve/http_reply.h"

namespace lact::serve {

struct ServerOptions {
  std::string host = "127.0.0.1";  ///< an address of this machine, or "localhost"
  int port = 0;                    ///< 0: any free one
  /// Further names by which clients may ask for this machine.
  std::vector<std::string> names = {};
  /// Of pages of other sites that may talk to it, such as "http://127.0.0.1:3000"; "*": all.
  std::vector<std::string> origins = {};
  size_t header_bytes = 8 << 10;
  size_t body_bytes = 64 << 10;             ///< of a request, unless `handlers.body_limit` says otherwise
  size_t all_body_bytes = size_t{1} << 30;  ///< of the requests that are being received at the same time
  size_t unsent_bytes = size_t{16} << 20;   ///< of a streamed answer; who reads too slowly is dropped
  size_t message_bytes = 16 << 10;          ///< of one WebSocket message that is received
  /// At the same time; for a new one the idlest gives way, but no open WebSocket and nobody who waits for an
  /// answer.
  int connections = 32;
  std::chrono::milliseconds request_timeout{10'000};  ///< to receive a request's head, or between two of them
  size_t slowest_body = 64 << 10;                     ///< bytes of a body per second, after the same time
  std::chrono::milliseconds silent_timeout{
      60'000};  ///< a WebSocket peer that does not even answer pings is dropped
};

using Peer = uint64_t;  ///< one open WebSocket; numbers are never used twice

/// All of them are called on the server's thread, so they must be quick: what takes longer is done on another
/// thread, which answers by the reply. Those that are empty have the meaning that is given.
struct ServerHandlers {
  /// A whole request. What it throws is logged, and the client is told of a fault of ours.
  std::function<void(HttpRequest request, HttpReply reply)> request;
  /// An answer before the body is read, for a request that is not to go further; empty: none.
  std::function<std::optional<HttpResponse>(const HttpRequest& head)> refuse;
  /// How long the body may be; empty: body_bytes.
  std::function<size_t(const HttpRequest& head)> body_limit;
  /// How the server itself says that something cannot be; empty: as a line of text.
  std::function<HttpResponse(int status, const std::string& sentence)> refusal;

  std::function<bool(const std::string& path)>
      accepts_socket;  ///< whether there is a WebSocket at this path; empty: nowhere
  std::function<void(Peer)> opened, closed;
  std::function<void(Peer, std::string message)> received;
  std::function<void(Peer)> sent_all;  ///< everything given to send() has been handed to the network
};

/// Answers GET and HEAD by a function of the path, and refuses everything else.
std::function<void(HttpRequest, HttpReply)> pages(std::function<HttpResponse(const std::string& path)> get);

class HttpServer {
 public:
  /// A port that is taken or an address that is not ours is an error.
  HttpServer(ServerOptions options, ServerHandlers handlers);
  /// Closes every connection; no handler runs afterwards, and replies do nothing any more.
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
