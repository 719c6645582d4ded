#include "lact/serve/http_server.h"

#include <fcntl.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <deque>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/serve/same_site.h"

namespace lact::serve {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using asio::ip::tcp;
using beast::error_code;
using std::chrono::milliseconds;

constexpr size_t kMaxUnsentMessages = 64;     // a peer that does not read is dropped
constexpr size_t kMaxIgnoredBytes = 1 << 20;  // of a refused request
constexpr milliseconds kIgnoredTime{1000};    // the same
constexpr milliseconds kPauseAfterAcceptError{100};

tcp::endpoint endpoint_of(const ServerOptions& options) {
  LACT_CHECK(options.port >= 0 && options.port <= 65535, "[viewer] --port is {}, expected 0 to 65535",
             options.port);
  error_code error;
  const auto address =
      asio::ip::make_address(options.host == "localhost" ? "127.0.0.1" : options.host.c_str(), error);
  LACT_CHECK(!error, "[viewer] --host is \"{}\", expected an address of this machine such as 127.0.0.1",
             options.host);
  return {address, static_cast<uint16_t>(options.port)};
}

/// What is answered to a request that could not be read; 0: nothing, the connection is gone.
int status_of_read_error(error_code error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  if (error == http::error::body_limit) return 413;
  if (error == http::error::end_of_stream || error == http::error::partial_message) return 0;
  return error.category() == http::make_error_code(http::error::bad_method).category() ? 400 : 0;
}

HttpResponse refusal(int status, std::string sentence) {
  return {status, "text/plain; charset=utf-8", std::move(sentence) + "\n"};
}

}  // namespace

/// Everything below runs on its one thread, apart from construction, destruction and send().
class HttpServer::Network {
 public:
  class Connection;
  class Socket;

  Network(ServerOptions options, ServerHandlers handlers)
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
      fail("[viewer] cannot listen on {} port {}: {}", options_.host, options_.port, error.code().message());
    }
  }

  void start() {
    accept();
    thread_ = std::thread([this] { run(); });
  }

  ~Network() {
    io_.stop();
    if (thread_.joinable()) thread_.join();
  }

  const tcp::endpoint& endpoint() const { return endpoint_; }
  void send(Peer peer, std::string message, bool binary);

 private:
  void run() {
    while (!io_.stopped()) {
      try {
        io_.run();
      } catch (const std::exception& error) {
        log::error("[viewer] a connection failed: {}", error.what());
      }
    }
  }

  void accept();
  void admit(tcp::socket socket);

  // The order matters: connections, which io_ owns, count themselves out when it is destroyed.
  ServerOptions options_;
  ServerHandlers handlers_;
  tcp::endpoint endpoint_;
  int num_connections_ = 0;
  Peer next_peer_ = 1;
  std::map<Peer, std::weak_ptr<Socket>> sockets_;
  asio::io_context io_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  std::thread thread_;
};

/// One open WebSocket.
class HttpServer::Network::Socket : public std::enable_shared_from_this<Socket> {
 public:
  Socket(Network& network, std::shared_ptr<void> place, beast::tcp_stream stream)
      : network_(network), place_(std::move(place)), stream_(std::move(stream)), peer_(network.next_peer_++) {
    stream_.set_option(websocket::stream_base::timeout{
        network_.options_.request_timeout, network_.options_.silent_timeout, /*keep_alive_pings=*/true});
    stream_.read_message_max(network_.options_.message_bytes);
  }

  void open(const http::request<http::string_body>& request) {
    stream_.async_accept(request, [self = shared_from_this()](error_code error) {
      if (error) return;
      self->network_.sockets_[self->peer_] = self;
      self->network_.handlers_.opened(self->peer_);
      self->read();
    });
  }

  void send(std::string message, bool binary) {
    if (unsent_.size() >= kMaxUnsentMessages) return drop();
    unsent_.emplace_back(std::move(message), binary);
    if (unsent_.size() == 1) write();
  }

 private:
  void read() {
    stream_.async_read(buffer_, [self = shared_from_this()](error_code error, size_t) {
      if (error) return self->end();
      std::string message = beast::buffers_to_string(self->buffer_.data());
      self->buffer_.consume(self->buffer_.size());
      self->network_.handlers_.received(self->peer_, std::move(message));
      self->read();
    });
  }

  void write() {
    stream_.binary(unsent_.front().second);
    stream_.async_write(asio::buffer(unsent_.front().first),
                        [self = shared_from_this()](error_code error, size_t) {
                          if (error) return self->drop();
                          self->unsent_.pop_front();
                          if (!self->unsent_.empty()) return self->write();
                          if (!self->ended_) self->network_.handlers_.sent_all(self->peer_);
                        });
  }

  /// The pending read ends with an error and says goodbye.
  void drop() { beast::get_lowest_layer(stream_).close(); }

  void end() {
    ended_ = true;
    network_.sockets_.erase(peer_);
    network_.handlers_.closed(peer_);
  }

  Network& network_;
  std::shared_ptr<void> place_;
  websocket::stream<beast::tcp_stream> stream_;
  beast::flat_buffer buffer_;
  std::deque<std::pair<std::string, bool>>
      unsent_;  ///< message, whether it is binary; the first one is being written
  Peer peer_;
  bool ended_ = false;
};

/// Reads requests and answers them, until one asks for a WebSocket.
class HttpServer::Network::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Network& network, std::shared_ptr<void> place, tcp::socket socket)
      : network_(network),
        place_(std::move(place)),
        stream_(std::move(socket)),
        buffer_(network.options_.header_bytes + network.options_.body_bytes) {}

  void read() {
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(network_.options_.header_bytes));
    parser_->body_limit(network_.options_.body_bytes);
    stream_.expires_after(network_.options_.request_timeout);
    http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](error_code error, size_t) {
      if (!error) return self->answer(self->parser_->release());
      const int status = status_of_read_error(error);
      if (status != 0)
        self->write(refusal(status, "The request cannot be read: " + error.message()), 11, false, true);
    });
  }

 private:
  void answer(http::request<http::string_body> request) {
    const auto header = [&](http::field name) {
      const auto value = request[name];
      return std::string_view(value.data(), value.size());
    };
    const bool head = request.method() == http::verb::head;
    const auto reply = [&](const HttpResponse& response, bool close) {
      write(response, request.version(), head, close || !request.keep_alive());
    };
    if (request.count(http::field::host) != 1 ||
        !host_is_ours(header(http::field::host), network_.options_.host)) {
      return reply(
          refusal(
              403,
              "Open this page by its address, such as http://127.0.0.1: names of other sites are refused."),
          true);
    }
    if (!origin_is_ours(header(http::field::origin), header(http::field::host))) {
      return reply(refusal(403, "Only the page of this server may talk to it."), true);
    }
    const std::string target(request.target());
    const std::string path = target.substr(0, target.find('?'));
    if (websocket::is_upgrade(request)) {
      if (!network_.handlers_.accepts_socket(path))
        return reply(refusal(404, "There is no WebSocket here."), true);
      stream_.expires_never();
      std::make_shared<Socket>(network_, std::move(place_), std::move(stream_))->open(request);
      return;
    }
    if (request.method() != http::verb::get && !head) {
      return reply(refusal(405, "Only GET and HEAD are answered."), true);
    }
    reply(network_.handlers_.get(path), false);
  }

  void write(const HttpResponse& answer, unsigned version, bool head, bool close) {
    response_ = {};
    response_.version(version);
    response_.result(static_cast<unsigned>(answer.status));
    response_.set(http::field::content_type, answer.content_type);
    response_.set(http::field::cache_control, "no-store");
    response_.set("X-Content-Type-Options", "nosniff");
    response_.set("Cross-Origin-Resource-Policy", "same-origin");
    // The page is one file: it loads nothing, talks to this server alone and is shown in no frame.
    response_.set(
        "Content-Security-Policy",
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    if (answer.status == 405) response_.set(http::field::allow, "GET, HEAD");
    response_.keep_alive(!close);
    response_.content_length(answer.body.size());
    if (!head) response_.body() = answer.body;
    stream_.expires_after(network_.options_.request_timeout);
    http::async_write(stream_, response_, [self = shared_from_this(), close](error_code error, size_t) {
      if (error) return;
      if (!close) return self->read();
      self->stream_.socket().shutdown(tcp::socket::shutdown_send, error);
      self->stream_.expires_after(kIgnoredTime);
      self->ignore_rest(0);
    });
  }

  /// Closing while the peer still sends would reset the connection, and the peer might never see the answer.
  void ignore_rest(size_t ignored) {
    if (ignored > kMaxIgnoredBytes) return;
    stream_.async_read_some(asio::buffer(rest_),
                            [self = shared_from_this(), ignored](error_code error, size_t size) {
                              if (!error) self->ignore_rest(ignored + size);
                            });
  }

  Network& network_;
  std::shared_ptr<void> place_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> response_;
  std::array<char, 4096> rest_;
};

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
  std::make_shared<Connection>(*this, std::move(place), std::move(socket))->read();
}

void HttpServer::Network::send(Peer peer, std::string message, bool binary) {
  asio::post(io_, [this, peer, message = std::move(message), binary]() mutable {
    const auto found = sockets_.find(peer);
    if (found == sockets_.end()) return;
    if (const auto socket = found->second.lock()) socket->send(std::move(message), binary);
  });
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
