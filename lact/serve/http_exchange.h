// What stands between a reply, which may be anywhere, and its connection, which belongs to the server's
// thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "lact/serve/http_reply.h"

namespace lact::serve {

class HttpConnection;

/// The way to the server's thread, for threads that may outlive it.
class ServerThread {
 public:
  explicit ServerThread(boost::asio::io_context& io) : io_(&io) {}

  /// Runs the action there, unless the server has ended.
  template <class Action>
  void post(Action&& action) {
    const std::lock_guard lock(mutex_);
    if (io_ != nullptr) boost::asio::post(*io_, std::forward<Action>(action));
  }
  void end() {
    const std::lock_guard lock(mutex_);
    io_ = nullptr;
  }

 private:
  std::mutex mutex_;
  boost::asio::io_context* io_;
};

/// One request and its answer. The connection looks at it to know whether the answer that arrives is still
/// the one it waits for.
class HttpReply::Exchange : public std::enable_shared_from_this<HttpReply::Exchange> {
 public:
  Exchange(std::shared_ptr<ServerThread> thread, std::weak_ptr<HttpConnection> connection)
      : thread_(std::move(thread)), connection_(std::move(connection)) {}
  ~Exchange();

  /// Calls `action` with the connection on the server's thread, if both are still there.
  void with_connection(std::function<void(HttpConnection&)> action);

  void when_gone(std::function<void()> action);
  bool gone() const;

  // For the connection.
  /// No answer is waited for any more; `client_gone`: because there is nobody to give it to.
  void close(bool client_gone);

 private:
  std::shared_ptr<ServerThread> thread_;
  std::weak_ptr<HttpConnection> connection_;  // locked on the server's thread alone
  mutable std::mutex mutex_;
  bool closed_ = false, gone_ = false;
  std::function<void()> when_gone_;
};

}  // namespace lact::serve
