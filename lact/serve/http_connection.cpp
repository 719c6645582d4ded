#include "lact/serve/http_connection.h"

#include <utility>

#include "lact/serve/http_socket.h"
#include "lact/serve/same_site.h"

namespace lact::serve {

namespace {

constexpr size_t kMaxIgnoredBytes = 1 << 20;             // of a refused request
constexpr std::chrono::milliseconds kIgnoredTime{1000};  // the same

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

HttpConnection::HttpConnection(HttpServer::Network& network, std::shared_ptr<void> place, tcp::socket socket)
    : network_(network),
      place_(std::move(place)),
      stream_(std::move(socket)),
      buffer_(network.options().header_bytes + network.options().body_bytes) {
  auto& line = network_.line();
  in_line_ = line.insert(line.end(), this);
}

HttpConnection::~HttpConnection() { leave_line(); }

void HttpConnection::leave_line() {
  if (in_line_) network_.line().erase(*in_line_);
  in_line_.reset();
}

void HttpConnection::give_way() {
  leave_line();
  place_.reset();
  stream_.close();  // what is waited for ends with an error, and this connection with it
}

void HttpConnection::read() {
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(network_.options().header_bytes));
  parser_->body_limit(network_.options().body_bytes);
  stream_.expires_after(network_.options().request_timeout);
  http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](error_code error, size_t) {
    if (!error) return self->answer(self->parser_->release());
    const int status = status_of_read_error(error);
    if (status != 0)
      self->write(refusal(status, "The request cannot be read: " + error.message()), 11, false, true);
  });
}

void HttpConnection::answer(HttpRequest request) {
  auto& line = network_.line();
  if (in_line_) line.splice(line.end(), line, *in_line_);
  const auto header = [&](http::field name) {
    const auto value = request[name];
    return std::string_view(value.data(), value.size());
  };
  const bool head = request.method() == http::verb::head;
  const auto reply = [&](const HttpResponse& response, bool close) {
    write(response, request.version(), head, close || !request.keep_alive());
  };
  if (request.count(http::field::host) != 1 ||
      !host_is_ours(header(http::field::host), network_.options().host)) {
    return reply(
        refusal(403,
                "Open this page by its address, such as http://127.0.0.1: names of other sites are refused."),
        true);
  }
  if (!origin_is_ours(header(http::field::origin), header(http::field::host))) {
    return reply(refusal(403, "Only the page of this server may talk to it."), true);
  }
  const std::string target(request.target());
  const std::string path = target.substr(0, target.find('?'));
  if (websocket::is_upgrade(request)) {
    if (!network_.handlers().accepts_socket(path))
      return reply(refusal(404, "There is no WebSocket here."), true);
    leave_line();
    stream_.expires_never();
    std::make_shared<HttpSocket>(network_, std::move(place_), std::move(stream_))->open(request);
    return;
  }
  if (request.method() != http::verb::get && !head) {
    return reply(refusal(405, "Only GET and HEAD are answered."), true);
  }
  reply(network_.handlers().get(path), false);
}

void HttpConnection::write(const HttpResponse& answer, unsigned version, bool head, bool close) {
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
  stream_.expires_after(network_.options().request_timeout);
  http::async_write(stream_, response_, [self = shared_from_this(), close](error_code error, size_t) {
    if (error) return;
    if (!close) return self->read();
    self->stream_.socket().shutdown(tcp::socket::shutdown_send, error);
    self->stream_.expires_after(kIgnoredTime);
    self->ignore_rest(0);
  });
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
