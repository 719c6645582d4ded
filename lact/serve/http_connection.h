// Reads requests and answers them, until one asks for a WebSocket.
#pragma once

#include <array>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "lact/serve/http_exchange.h"
#include "lact/serve/http_network.h"

namespace lact::serve {

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  /// `place`: one of the limited number of connections, given back with this one.
  HttpConnection(HttpServer::Network& network, std::shared_ptr<void> place, tcp::socket socket);
  ~HttpConnection();

  void read();

  /// Closes the connection and gives its place back at once.
  void give_way();

  // For replies.
  bool waits_for(const HttpReply::Exchange& exchange) const { return exchange_.lock().get() == &exchange; }
  void send(HttpResponse response);
  void begin_stream(HttpResponse head);
  void write_piece(std::string piece);
  void end_stream();
  /// The last reply went without an answer.
  void unanswered();

 private:
  /// What is known of the request that is being answered.
  struct Current {
    unsigned version = 11;
    bool head = false, keep_alive = false;
    std::string origin;  ///< of a page of another site that may read the answer
    bool chunked = false;
  };

  void take_head();
  void continue_then_read_body();
  void read_body();
  void take_request();
  /// What is wrong with who asks, or nothing.
  std::optional<HttpResponse> refusal_of_sender();
  HttpResponse refusal(int status, const std::string& sentence) const;
  /// Answers what was refused, and closes the connection afterwards.
  void refuse(HttpResponse response);

  void watch_for_leaving();
  void join_line();
  void leave_line();

  std::string head_text(const HttpResponse& response, bool streamed) const;
  /// Everything is said: the exchange ends as soon as it is written.
  void finish();
  void push(std::string bytes);
  void write_unsent();
  void written_all();
  void ignore_rest(size_t ignored);
  void lose();

  HttpServer::Network& network_;
  std::shared_ptr<void> place_;
  std::shared_ptr<void> body_share_;  ///< of the bytes that may be received at the same time
  std::optional<std::list<HttpConnection*>::iterator> in_line_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  HttpRequest request_;
  Current current_;
  std::weak_ptr<HttpReply::Exchange> exchange_;
  std::deque<std::string> unsent_;  ///< the first one is being written
  size_t unsent_bytes_ = 0;
  bool writing_ = false, streaming_ = false, finished_ = false;
  bool watching_ = false, read_after_watch_ = false;
  std::array<char, 4096> rest_;
};

}  // namespace lact::serve
