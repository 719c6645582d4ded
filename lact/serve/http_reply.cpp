#include "lact/serve/http_reply.h"

#include "lact/serve/http_connection.h"
#include "lact/serve/http_exchange.h"

namespace lact::serve {

HttpReply::Exchange::~Exchange() {
  if (closed_) return;
  thread_->post([connection = std::move(connection_)] {
    if (const auto found = connection.lock()) found->unanswered();
  });
}

void HttpReply::Exchange::with_connection(std::function<void(HttpConnection&)> action) {
  thread_->post([self = shared_from_this(), action = std::move(action)] {
    const auto connection = self->connection_.lock();
    if (connection && connection->waits_for(*self)) action(*connection);
  });
}

void HttpReply::Exchange::when_gone(std::function<void()> action) {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_) {
      when_gone_ = std::move(action);
      return;
    }
    if (!gone_) return;
  }
  action();
}

bool HttpReply::Exchange::gone() const {
  const std::lock_guard lock(mutex_);
  return gone_;
}

void HttpReply::Exchange::close(bool client_gone) {
  std::function<void()> action;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
    gone_ = client_gone;
    action = std::move(when_gone_);
    when_gone_ = nullptr;  // what it holds may hold this exchange
  }
  if (client_gone && action) action();
}

void HttpReply::send(HttpResponse response) const {
  exchange_->with_connection([response = std::move(response)](HttpConnection& connection) mutable {
    connection.send(std::move(response));
  });
}

void HttpReply::begin(HttpResponse head) const {
  exchange_->with_connection([head = std::move(head)](HttpConnection& connection) mutable {
    connection.begin_stream(std::move(head));
  });
}

void HttpReply::write(std::string piece) const {
  exchange_->with_connection([piece = std::move(piece)](HttpConnection& connection) mutable {
    connection.write_piece(std::move(piece));
  });
}

void HttpReply::end() const {
  exchange_->with_connection([](HttpConnection& connection) { connection.end_stream(); });
}

void HttpReply::when_gone(std::function<void()> action) const { exchange_->when_gone(std::move(action)); }

bool HttpReply::gone() const { return exchange_->gone(); }

}  // namespace lact::serve
