#include "lact/serve/http_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "lact/base/log.h"
#include "lact/serve/http_socket.h"
#include "lact/serve/same_site.h"

namespace lact::serve {

namespace {

constexpr size_t kReadAtOnce = 64 << 10;
constexpr size_t kMaxIgnoredBytes = 1 << 20;             // of a refused request
constexpr std::chrono::milliseconds kIgnoredTime{1000};  // the same

/// What is answered to a request that could not be read; 0: nothing, the connection is gone.
int status_of_read_error(error_code error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  if (error == http::error::body_limit) return 413;
  if (error == http::error::end_of_stream || error == http::error::partial_message) return 0;
  return error.category() == http::make_error_code(http::error::bad_method).category() ? 400 : 0;
}

HttpRequest head_of(const http::request_header<>& message) {
  HttpRequest request;
  request.method = std::string(message.method_string());
  const auto target = message.target();
  split_target({target.data(), target.size()}, request);
  for (const auto& field : message) {
    std::string name(field.name_string());
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    request.headers[std::move(name)] = std::string(field.value());
  }
  return request;
}

}  // namespace

HttpConnection::HttpConnection(HttpServer::Network& network, std::shared_ptr<void> place, tcp::socket socket)
    : network_(network),
      place_(std::move(place)),
      stream_(std::move(socket)),
      buffer_(network.options().header_bytes + kReadAtOnce) {
  join_line();
}

HttpConnection::~HttpConnection() {
  leave_line();
  if (const auto exchange = exchange_.lock()) exchange->close(/*client_gone=*/true);
}

void HttpConnection::join_line() {
  leave_line();
  in_line_ = network_.line().insert(network_.line().end(), this);
}

void HttpConnection::leave_line() {
  if (in_line_) network_.line().erase(*in_line_);
  in_line_.reset();
}

void HttpConnection::give_way() {
  leave_line();
  place_.reset();
  stream_.close();  // what is waited for ends with an error, and this connection with it
}

// --- Reading a request -------------------------------------------------------------------------------------

void HttpConnection::read() {
  current_ = {};
  streaming_ = finished_ = false;
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(network_.options().header_bytes));
  parser_->body_limit(std::numeric_limits<uint64_t>::max());  // known when the head is
  stream_.expires_after(network_.options().request_timeout);
  http::async_read_header(stream_, buffer_, *parser_, [self = shared_from_this()](error_code error, size_t) {
    if (!error) return self->take_head();
    const int status = status_of_read_error(error);
    if (status != 0) self->refuse(self->refusal(status, "The request cannot be read: " + error.message()));
  });
}

void HttpConnection::take_head() {
  const auto& message = parser_->get();
  current_.version = message.version();
  current_.head = message.method() == http::verb::head;
  current_.keep_alive = message.keep_alive();
  request_ = head_of(message);
  if (auto refused = refusal_of_sender()) return refuse(std::move(*refused));
  if (websocket::is_upgrade(message)) {
    const auto& accepts = network_.handlers().accepts_socket;
    if (!accepts || !accepts(request_.path)) return refuse(refusal(404, "There is no WebSocket here."));
    leave_line();
    stream_.expires_never();
    std::make_shared<HttpSocket>(network_, std::move(place_), std::move(stream_))->open(parser_->release());
    return;
  }
  const auto& handlers = network_.handlers();
  if (handlers.refuse) {
    if (auto refused = handlers.refuse(request_)) return refuse(std::move(*refused));
  }
  const size_t limit = handlers.body_limit ? handlers.body_limit(request_) : network_.options().body_bytes;
  const auto length = parser_->content_length();
  if (length && *length > limit) {
    return refuse(refusal(413, fmt::format("The body has {} bytes, expected at most {}", *length, limit)));
  }
  parser_->body_limit(limit);
  const size_t expected = length ? size_t(*length) : parser_->chunked() ? limit : 0;
  body_share_ = network_.share_of_bodies(expected);
  if (!body_share_) return refuse(refusal(503, "Too much is being sent to this server, try again later."));
  const auto more = expected / std::max<size_t>(1, network_.options().slowest_body);
  stream_.expires_after(network_.options().request_timeout + std::chrono::seconds(more));
  continue_then_read_body();
}

std::optional<HttpResponse> HttpConnection::refusal_of_sender() {
  const auto& options = network_.options();
  const std::string& host = request_.header("host");
  if (parser_->get().count(http::field::host) != 1 || !host_is_ours(host, options.host, options.names)) {
    return refusal(
        403, "Open this page by its address, such as http://127.0.0.1: names of other sites are refused.");
  }
  const std::string& origin = request_.header("origin");
  if (origin_is_ours(origin, host)) return std::nullopt;
  if (!origin_is_listed(origin, options.origins)) {
    return refusal(403, "Only the page of this server may talk to it.");
  }
  current_.origin = origin;
  if (request_.method != "OPTIONS") return std::nullopt;
  // What a browser asks before it lets a page of another site talk to us.
  return HttpResponse{204,
                      "",
                      "",
                      {{"Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, DELETE"},
                       {"Access-Control-Allow-Headers", "Authorization, Content-Type, X-Api-Key"},
                       {"Access-Control-Max-Age", "600"}}};
}

void HttpConnection::continue_then_read_body() {
  if (!beast::iequals(request_.header("expect"), "100-continue")) return read_body();
  static const std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
  asio::async_write(stream_, asio::buffer(go_on), [self = shared_from_this()](error_code error, size_t) {
    if (!error) self->read_body();
  });
}

void HttpConnection::read_body() {
  if (parser_->is_done()) return take_request();
  http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](error_code error, size_t) {
    if (!error) return self->take_request();
    const int status = status_of_read_error(error);
    if (status != 0) self->refuse(self->refusal(status, "The request cannot be read: " + error.message()));
  });
}

void HttpConnection::take_request() {
  request_.body = std::move(parser_->get().body());
  leave_line();  // who waits for an answer does not give way
  const auto exchange = std::make_shared<HttpReply::Exchange>(network_.thread(), weak_from_this());
  exchange_ = exchange;
  try {
    network_.handlers().request(std::move(request_), HttpReply(exchange));
  } catch (const std::exception& error) {
    log::error("[serve] a request failed: {}", error.what());
    return send(refusal(500, "The request met a fault of the server."));
  }
  watch_for_leaving();
}

/// Nothing is read here: what a client sends ahead is the next request.
void HttpConnection::watch_for_leaving() {
  watching_ = true;
  stream_.socket().async_wait(tcp::socket::wait_read, [self = shared_from_this()](error_code error) {
    self->watching_ = false;
    if (std::exchange(self->read_after_watch_, false)) return self->read();
    if (error || self->finished_) return;
    const size_t waiting = self->stream_.socket().available(error);
    if (error || waiting == 0) self->lose();
  });
}

void HttpConnection::lose() {
  if (const auto exchange = exchange_.lock()) exchange->close(/*client_gone=*/true);
  exchange_.reset();
  stream_.close();
}

HttpResponse HttpConnection::refusal(int status, const std::string& sentence) const {
  const auto& own = network_.handlers().refusal;
  if (own) return own(status, sentence);
  return {status, "text/plain; charset=utf-8", sentence + "\n"};
}

void HttpConnection::refuse(HttpResponse response) {
  // Of a refused request the rest may still be on its way.
  if (response.status != 204) current_.keep_alive = false;
  send(std::move(response));
}

// Closing while the peer still sends would reset the connection, and the peer might never see the answer.
void HttpConnection::ignore_rest(size_t ignored) {
  if (ignored > kMaxIgnoredBytes) return;
  stream_.async_read_some(asio::buffer(rest_),
                          [self = shared_from_this(), ignored](error_code error, size_t size) {
                            if (!error) self->ignore_rest(ignored + size);
                          });
}

}  // namespace lact::serve
