// The answer to one request, given from any thread, at once, later or in pieces.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lact/serve/http_message.h"

namespace lact::serve {

/// Copies answer the same request. A request whose last reply goes without an answer is answered with a fault
/// of ours, so that no client waits for ever. Once the client or the server has gone, nothing here has an
/// effect.
class HttpReply {
 public:
  class Exchange;
  explicit HttpReply(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}

  /// The whole answer.
  void send(HttpResponse response) const;

  /// The head of an answer that comes in pieces; its body is the first of them.
  void begin(HttpResponse head) const;
  void write(std::string piece) const;
  void end() const;

  /// `action` is called once, on the server's thread, if the client goes before the answer has ended; at once
  /// if it has gone. It must not throw.
  void when_gone(std::function<void()> action) const;
  bool gone() const;

 private:
  std::shared_ptr<Exchange> exchange_;
};

}  // namespace lact::serve
