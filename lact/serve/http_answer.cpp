// How a connection answers: whole or in pieces, always in the order in which it was given.
#include <fmt/format.h>

#include <sstream>
#include <utility>

#include "lact/serve/http_connection.h"

namespace lact::serve {

namespace {

constexpr std::chrono::milliseconds kTimeForTheRest{1000};

/// A piece of a body whose length is not known beforehand.
std::string chunk_of(const std::string& bytes) {
  return fmt::format("{:x}\r\n", bytes.size()) + bytes + "\r\n";
}

const char* const kLastChunk = "0\r\n\r\n";

}  // namespace

std::string HttpConnection::head_text(const HttpResponse& response, bool streamed) const {
  http::response_header<> head;
  head.version(current_.version);
  head.result(static_cast<unsigned>(response.status));
  if (!response.content_type.empty()) head.set(http::field::content_type, response.content_type);
  head.set(http::field::cache_control, "no-store");
  head.set("X-Content-Type-Options", "nosniff");
  head.set("Cross-Origin-Resource-Policy", current_.origin.empty() ? "same-origin" : "cross-origin");
  if (!network_.options().origins.empty()) head.set(http::field::vary, "Origin");
  if (!current_.origin.empty()) head.set(http::field::access_control_allow_origin, current_.origin);
  // The page is one file: it loads nothing, talks to this server alone and is shown in no frame.
  head.set("Content-Security-Policy",
           "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
           "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  for (const auto& [name, value] : response.headers) head.set(name, value);
  if (current_.version < 11 && current_.keep_alive) head.set(http::field::connection, "keep-alive");
  if (current_.version >= 11 && !current_.keep_alive) head.set(http::field::connection, "close");
  if (streamed && current_.chunked) {
    head.set(http::field::transfer_encoding, "chunked");
  } else if (!streamed && response.status != 204) {
    head.set(http::field::content_length, std::to_string(response.body.size()));
  }
  std::ostringstream text;
  text << head;
  return text.str();
}

void HttpConnection::send(HttpResponse response) {
  if (streaming_ || finished_) return;
  std::string head = head_text(response, false);
  finish();
  if (!current_.head) {
    unsent_bytes_ += head.size();
    unsent_.push_back(std::move(head));
    push(std::move(response.body));
  } else {
    push(std::move(head));
  }
}

void HttpConnection::begin_stream(HttpResponse head) {
  if (streaming_ || finished_) return;
  streaming_ = true;
  current_.chunked = current_.version >= 11;
  if (!current_.chunked) current_.keep_alive = false;  // the end of the connection is that of the answer
  push(head_text(head, true));
  write_piece(std::move(head.body));
}

void HttpConnection::write_piece(std::string piece) {
  if (!streaming_ || finished_ || current_.head || piece.empty()) return;
  if (unsent_bytes_ + piece.size() > network_.options().unsent_bytes) return lose();
  push(current_.chunked ? chunk_of(piece) : std::move(piece));
}

void HttpConnection::end_stream() {
  if (!streaming_ || finished_) return;
  finish();
  push(current_.chunked && !current_.head ? kLastChunk : "");
}

void HttpConnection::unanswered() {
  if (finished_ || !exchange_.expired()) return;
  if (streaming_) return lose();
  send(refusal(500, "The request met a fault of the server."));
}

void HttpConnection::finish() {
  finished_ = true;
  body_share_.reset();
  if (const auto exchange = exchange_.lock()) exchange->close(/*client_gone=*/false);
  exchange_.reset();
  join_line();  // who reads an answer slowly gives way
}

void HttpConnection::push(std::string bytes) {
  unsent_bytes_ += bytes.size();
  unsent_.push_back(std::move(bytes));
  if (!writing_) write_unsent();
}

void HttpConnection::write_unsent() {
  writing_ = true;
  std::vector<asio::const_buffer> pieces;
  for (const std::string& piece : unsent_) pieces.push_back(asio::buffer(piece));
  stream_.expires_after(network_.options().request_timeout);
  asio::async_write(stream_, pieces,
                    [self = shared_from_this(), count = pieces.size()](error_code error, size_t size) {
                      self->writing_ = false;
                      if (error) return self->lose();
                      self->unsent_bytes_ -= size;
                      self->unsent_.erase(self->unsent_.begin(), self->unsent_.begin() + int64_t(count));
                      if (!self->unsent_.empty()) return self->write_unsent();
                      if (self->finished_) self->written_all();
                    });
}

void HttpConnection::written_all() {
  if (current_.keep_alive) {
    read_after_watch_ = watching_;
    error_code ignored;
    if (!watching_) return read();
    stream_.socket().cancel(ignored);
    return;
  }
  error_code ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  stream_.expires_after(kTimeForTheRest);
  ignore_rest(0);
}

}  // namespace lact::serve
