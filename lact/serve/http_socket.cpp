#include "lact/serve/http_socket.h"

namespace lact::serve {

namespace {

constexpr size_t kMaxUnsentMessages = 64;

}  // namespace

HttpSocket::HttpSocket(HttpServer::Network& network, std::shared_ptr<void> place, beast::tcp_stream stream)
    : network_(network), place_(std::move(place)), stream_(std::move(stream)), peer_(network.new_peer()) {
  stream_.set_option(websocket::stream_base::timeout{
      network_.options().request_timeout, network_.options().silent_timeout, /*keep_alive_pings=*/true});
  stream_.read_message_max(network_.options().message_bytes);
}

void HttpSocket::open(const Upgrade& request) {
  stream_.async_accept(request, [self = shared_from_this()](error_code error) {
    if (error) return;
    self->network_.add(self->peer_, self);
    self->network_.handlers().opened(self->peer_);
    self->read();
  });
}

void HttpSocket::send(std::string message, bool binary) {
  if (unsent_.size() >= kMaxUnsentMessages) return drop();
  unsent_.emplace_back(std::move(message), binary);
  if (unsent_.size() == 1) write();
}

void HttpSocket::read() {
  stream_.async_read(buffer_, [self = shared_from_this()](error_code error, size_t) {
    if (error) return self->end();
    std::string message = beast::buffers_to_string(self->buffer_.data());
    self->buffer_.consume(self->buffer_.size());
    self->network_.handlers().received(self->peer_, std::move(message));
    self->read();
  });
}

void HttpSocket::write() {
  stream_.binary(unsent_.front().second);
  stream_.async_write(asio::buffer(unsent_.front().first),
                      [self = shared_from_this()](error_code error, size_t) {
                        if (error) return self->drop();
                        self->unsent_.pop_front();
                        if (!self->unsent_.empty()) return self->write();
                        if (!self->ended_) self->network_.handlers().sent_all(self->peer_);
                      });
}

// The pending read ends with an error and says goodbye.
void HttpSocket::drop() { beast::get_lowest_layer(stream_).close(); }

void HttpSocket::end() {
  ended_ = true;
  network_.remove(peer_);
  network_.handlers().closed(peer_);
}

}  // namespace lact::serve
