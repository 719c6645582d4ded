#include "lact/serve/http_server.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "support/errors.h"
#include "support/web_client.h"

namespace lact::serve {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::PlainConnection;
using ::testing::StartsWith;
using testing::WebSocketClient;

/// Serves "hello" at /, and a WebSocket at /frames that sends every message back, once or more often.
class EchoServer {
 public:
  explicit EchoServer(const ServerOptions& options = {}, int answers = 1)
      : answers_(answers), server_(options, handlers()) {
    server_.start();
  }

  /// The first is a text, the second not.
  static std::string answer(const std::string& message, int number) {
    return "back: " + message + std::string(size_t(number), '!');
  }

  HttpServer& operator*() { return server_; }
  int port() const { return server_.port(); }

  void wait_until_closed(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_.size() >= count; });
  }

 private:
  ServerHandlers handlers() {
    ServerHandlers handlers;
    handlers.request = pages([](const std::string& path) -> HttpResponse {
      if (path != "/") return {404, "text/plain", "no " + path};
      return {200, "text/plain", "hello"};
    });
    handlers.accepts_socket = [](const std::string& path) { return path == "/frames"; };
    handlers.opened = [](Peer) {};
    handlers.closed = [this](Peer peer) {
      const std::lock_guard lock(mutex_);
      closed_.push_back(peer);
      changed_.notify_all();
    };
    handlers.received = [this](Peer peer, const std::string& message) {
      // On the server's own thread: it writes the first one only after the last one has been given to it.
      for (int i = 0; i < answers_; ++i) {
        if (i % 3 == 1) {
          server_.send_binary(peer, answer(message, i));
        } else {
          server_.send_text(peer, answer(message, i));
        }
      }
    };
    handlers.sent_all = [](Peer) {};
    return handlers;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Peer> closed_;
  int answers_;
  HttpServer server_;
};

/// A place is free once the server has dropped its end, a moment after the close.
std::string answer_once_there_is_a_place(int port) {
  std::string answer;
  for (int i = 0; i < 200 && !answer.starts_with("HTTP/1.1 200"); ++i) {
    try {
      answer = testing::http_get(port, "/");
    } catch (const std::exception&) {
    }
  }
  return answer;
}

TEST(HttpServer, AnswersGetAndHead) {
  EchoServer server;
  const std::string answer = testing::http_get(server.port(), "/?theme=dark");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Security-Policy: default-src 'none';"));
  EXPECT_THAT(answer, ::testing::EndsWith("\r\n\r\nhello"));
  const std::string head = testing::http_get(server.port(), "/", "Host: localhost\r\n", "HEAD");
  EXPECT_THAT(head, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_THAT(head, ::testing::EndsWith("\r\n\r\n"));
  EXPECT_THAT(testing::http_get(server.port(), "/nothing"), StartsWith("HTTP/1.1 404"));
}

TEST(HttpServer, AnswersSeveralRequestsOnOneConnection) {
  EchoServer server;
  PlainConnection connection(server.port());
  const std::string request = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n";
  connection.send(request + "\r\n" + request + "Connection: close\r\n\r\n");
  const std::string answers = connection.receive_all();
  EXPECT_NE(answers.find("hello"), answers.rfind("hello")) << answers;
}

TEST(HttpServer, RefusesOtherMethods) {
  EchoServer server;
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "NONSENSE"}) {
    const std::string answer = testing::http_get(server.port(), "/", "Host: 127.0.0.1\r\n", method);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 405")) << method;
    EXPECT_THAT(answer, HasSubstr("Allow: GET, HEAD")) << method;
  }
}

TEST(HttpServer, AHeaderLineIsReadOnlyUpToItsLimit) {
  EchoServer server;
  PlainConnection connection(server.port());
  const std::string endless(64 << 20, 'x');
  const size_t taken = connection.send("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + endless);
  EXPECT_LT(taken, endless.size() / 2) << "the server goes on reading";
  EXPECT_THAT(testing::http_get(server.port(), "/"), StartsWith("HTTP/1.1 200"));
}

TEST(HttpServer, SaysWhenAHeaderIsTooLong) {
  EchoServer server;
  const std::string answer =
      testing::http_get(server.port(), "/", "Host: 127.0.0.1\r\nX: " + std::string(20'000, 'x') + "\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(testing::http_get(server.port(), "/" + std::string(20'000, 'x')), StartsWith("HTTP/1.1 431"));
}

TEST(HttpServer, SaysWhenABodyIsTooLong) {
  EchoServer server;
  for (const char* length : {"Content-Length: 100000\r\n", "Content-Length: 1000000000000\r\n"}) {
    EXPECT_THAT(testing::http_get(server.port(), "/", std::string("Host: 127.0.0.1\r\n") + length, "POST"),
                StartsWith("HTTP/1.1 413"));
  }
  PlainConnection connection(server.port());
  connection.send("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 5; ++i) connection.send("4000\r\n" + std::string(0x4000, 'x') + "\r\n");
  EXPECT_THAT(connection.receive_all(), StartsWith("HTTP/1.1 413"));
}

TEST(HttpServer, RefusesWhatIsNotHttp) {
  EchoServer server;
  for (const std::string& bytes : {std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11),
                                   std::string("GET / HTTP/9.9\r\n\r\n"), std::string("GET /\r\n\r\n"),
                                   std::string("GET / HTTP/1.1\r\nContent-Length: -5\r\n\r\n")}) {
    PlainConnection connection(server.port());
    connection.send(bytes);
    EXPECT_THAT(connection.receive_all(), StartsWith("HTTP/1.1 400"));
  }
}

TEST(HttpServer, RefusesPagesOfOtherSites) {
  EchoServer server;
  for (const char* headers : {"Host: evil.example\r\n", "", "Host: 127.0.0.1\r\nHost: evil.example\r\n",
                              "Host: 127.0.0.1\r\nOrigin: http://evil.example\r\n"}) {
    EXPECT_THAT(testing::http_get(server.port(), "/", headers), StartsWith("HTTP/1.1 403")) << headers;
  }
  const std::string own = "http://127.0.0.1:" + std::to_string(server.port());
  EXPECT_NO_THROW(WebSocketClient(server.port(), "/frames", own).close());
  EXPECT_ANY_THROW(WebSocketClient(server.port(), "/frames", "http://evil.example"));
  EXPECT_ANY_THROW(WebSocketClient(server.port(), "/frames", "null"));
  EXPECT_ANY_THROW(WebSocketClient(server.port(), "/elsewhere", own));
}

TEST(HttpServer, TheNumberOfConnectionsIsLimited) {
  EchoServer server({.connections = 2});
  std::optional<WebSocketClient> first(server.port()), second(server.port());
  EXPECT_THAT(PlainConnection(server.port()).receive_all(), StartsWith("HTTP/1.1 503"));
  first->close();
  server.wait_until_closed(1);
  first.reset();
  EXPECT_THAT(answer_once_there_is_a_place(server.port()), StartsWith("HTTP/1.1 200"));
}

TEST(HttpServer, IdleAndSlowConnectionsGiveWayToNewOnes) {
  EchoServer server({.connections = 4});
  WebSocketClient viewer(server.port());
  std::vector<std::unique_ptr<PlainConnection>> slow;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 50; ++i) {
    slow.push_back(std::make_unique<PlainConnection>(server.port()));
    slow.back()->send(i % 2 == 0 ? "" : "GET / HT");
    if (i % 10 != 9) continue;
    EXPECT_THAT(testing::http_get(server.port(), "/"), StartsWith("HTTP/1.1 200")) << i;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5)) << "someone had to wait";
  EXPECT_THAT(slow.front()->receive_all(), IsEmpty()) << "closed to make room";
  viewer.send("still here");
  EXPECT_EQ(viewer.receive(), "back: still here");
}

TEST(HttpServer, WhoAskedLastGivesWayLast) {
  EchoServer server({.connections = 2});
  PlainConnection busy(server.port()), idle(server.port());
  const auto ask = [](PlainConnection& connection) {
    connection.send("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    return connection.receive_until("hello");
  };
  for (PlainConnection* one : {&busy, &idle, &busy}) EXPECT_THAT(ask(*one), HasSubstr("200 OK"));
  PlainConnection third(server.port());
  EXPECT_THAT(idle.receive_all(), IsEmpty());
  EXPECT_THAT(ask(busy), HasSubstr("200 OK"));
}

TEST(HttpServer, ASilentConnectionIsClosed) {
  EchoServer server({.request_timeout = milliseconds(50)});
  PlainConnection silent(server.port()), slow(server.port());
  slow.send("GET / HT");
  EXPECT_THAT(silent.receive_all(), IsEmpty());
  EXPECT_THAT(slow.receive_all(), IsEmpty());
}

TEST(HttpServer, MessagesGoBackAndForth) {
  EchoServer server;
  WebSocketClient client(server.port());
  for (int i = 0; i < 3; ++i) {
    client.send(std::to_string(i));
    EXPECT_EQ(client.receive(), "back: " + std::to_string(i));
    EXPECT_FALSE(client.binary());
  }
  client.close();
  server.wait_until_closed(1);
}

TEST(HttpServer, MessagesSentAtOnceArriveOnceInTheirOrderAndKind) {
  EchoServer server({.connections = 1}, /*answers=*/40);
  WebSocketClient client(server.port());
  for (const char* question : {"first", "second"}) {
    client.send(question);
    for (int i = 0; i < 40; ++i) {
      ASSERT_EQ(client.receive(), EchoServer::answer(question, i));
      ASSERT_EQ(client.binary(), i % 3 == 1) << "answer " << i;
    }
  }
  client.close();
  server.wait_until_closed(1);
  // A write that began while another one was under way would never end, and keep the socket's place.
  EXPECT_THAT(answer_once_there_is_a_place(server.port()), StartsWith("HTTP/1.1 200"));
}

TEST(HttpServer, ALongMessageEndsItsConnectionOnly) {
  EchoServer server({.message_bytes = 1000});
  WebSocketClient good(server.port()), bad(server.port());
  bad.send(std::string(1001, 'x'));
  EXPECT_ANY_THROW(bad.receive());
  good.send(std::string(1000, 'x'));
  EXPECT_EQ(good.receive().size(), 1006);
}

TEST(HttpServer, APeerThatDoesNotReadIsDropped) {
  EchoServer server;
  WebSocketClient client(server.port());
  client.send("hello");
  client.receive();
  for (int i = 0; i < 400; ++i) (*server).send_binary(1, std::string(1 << 20, 'x'));
  server.wait_until_closed(1);
}

TEST(HttpServer, SendingToAPeerThatHasGoneDoesNothing) {
  EchoServer server;
  (*server).send_text(12345, "hello");
  EXPECT_THAT(testing::http_get(server.port(), "/"), StartsWith("HTTP/1.1 200"));
}

TEST(HttpServer, StopsWithConnectionsOpen) {
  std::optional<EchoServer> server(std::in_place);
  WebSocketClient client(server->port());
  PlainConnection waiting(server->port());
  waiting.send("GET / HT");
  server.reset();
  EXPECT_ANY_THROW(client.receive());
  EXPECT_THAT(waiting.receive_all(), IsEmpty());
}

TEST(HttpServer, SaysWhereItCannotListen) {
  EchoServer server;
  EXPECT_SENTENCE(EchoServer({.port = server.port()}), "cannot listen on 127.0.0.1 port");
  EXPECT_SENTENCE(EchoServer({.host = "nowhere"}), "[serve] --host is \"nowhere\", expected an address");
  EXPECT_SENTENCE(EchoServer({.host = "203.0.113.1"}), "cannot listen on 203.0.113.1");
  EXPECT_SENTENCE(EchoServer({.port = 70000}), "[serve] --port is 70000, expected 0 to 65535");
  EXPECT_THAT((*server).url(), StartsWith("http://127.0.0.1:"));
  EXPECT_THAT((*server).url(), Not(HasSubstr(":0/")));
}

}  // namespace
}  // namespace lact::serve
