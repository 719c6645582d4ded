#include "lact/models/plan/loopback.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "lact/base/error.h"

namespace lact::models::plan {

namespace {

constexpr size_t kBytes = 64 << 20, kPiece = 1 << 20;
constexpr int kEchoes = 200;

/// Closed when it goes.
class Socket {
 public:
  explicit Socket(int number) : number_(number) {
    LACT_CHECK(number >= 0, "[plan] this machine gives no socket to measure its loopback with");
  }
  ~Socket() { ::close(number_); }
  Socket(const Socket&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

void send_all(int socket, const char* data, size_t size) {
  for (size_t sent = 0; sent < size;) {
    const ssize_t count = ::send(socket, data + sent, size - sent, MSG_NOSIGNAL);
    LACT_CHECK(count > 0, "[plan] the loopback connection broke while it was measured");
    sent += size_t(count);
  }
}

/// Whether all of it came.
bool receive_all(int socket, char* data, size_t size) {
  for (size_t got = 0; got < size;) {
    const ssize_t count = ::recv(socket, data + got, size - got, 0);
    if (count <= 0) return false;
    got += size_t(count);
  }
  return true;
}

/// Takes what the other end sends, and answers at the end; then sends single bytes back.
void be_the_other(int socket) {
  std::vector<char> piece(kPiece);
  for (size_t got = 0; got < kBytes; got += kPiece)
    if (!receive_all(socket, piece.data(), kPiece)) return;
  for (int i = 0; i < kEchoes + 1; ++i) {
    if (i > 0 && !receive_all(socket, piece.data(), 1)) return;
    if (::send(socket, piece.data(), 1, MSG_NOSIGNAL) != 1) return;
  }
}

double since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Link loopback() {
  const Socket server(::socket(AF_INET, SOCK_STREAM, 0)), client(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* place = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  const bool connected = ::bind(server.number(), place, size) == 0 && ::listen(server.number(), 1) == 0 &&
                         ::getsockname(server.number(), place, &size) == 0 &&
                         ::connect(client.number(), place, size) == 0;
  LACT_CHECK(connected, "[plan] this machine cannot connect to itself over its loopback interface");
  const Socket accepted(::accept(server.number(), nullptr, nullptr));
  const int yes = 1;
  for (const int end : {client.number(), accepted.number()})
    ::setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));

  std::thread other([&] { be_the_other(accepted.number()); });
  Link link;
  std::string problem;
  try {
    std::vector<char> piece(kPiece, 1);
    auto start = std::chrono::steady_clock::now();
    for (size_t sent = 0; sent < kBytes; sent += kPiece) send_all(client.number(), piece.data(), kPiece);
    receive_all(client.number(), piece.data(), 1);
    link.bandwidth = double(kBytes) / since(start);
    start = std::chrono::steady_clock::now();
    for (int i = 0; i < kEchoes; ++i) {
      send_all(client.number(), piece.data(), 1);
      receive_all(client.number(), piece.data(), 1);
    }
    link.latency = since(start) / (2 * kEchoes);
  } catch (const Error& error) {
    problem = error.what();
    ::shutdown(client.number(), SHUT_RDWR);
  }
  other.join();
  LACT_CHECK(problem.empty(), "{}", problem);
  return link;
}

}  // namespace lact::models::plan
