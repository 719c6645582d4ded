#include "lact/parallel/own_address.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

namespace lact::parallel {

namespace {

/// A datagram socket that is connected sends nothing, but has a route and with it an address.
std::string source_of_route(const addrinfo& target) {
  const int probe = socket(target.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return "";
  sockaddr_storage own = {};
  socklen_t size = sizeof(own);
  auto* const place = reinterpret_cast<sockaddr*>(&own);
  char text[NI_MAXHOST] = "";
  const bool found = connect(probe, target.ai_addr, target.ai_addrlen) == 0 &&
                     getsockname(probe, place, &size) == 0 &&
                     getnameinfo(place, size, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) == 0;
  close(probe);
  return found ? text : "";
}

}  // namespace

std::string own_address_towards(const std::string& address) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), "9", &hints, &found) != 0) return "";
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> targets(found, freeaddrinfo);
  for (const addrinfo* target = targets.get(); target != nullptr; target = target->ai_next) {
    if (const std::string own = source_of_route(*target); !own.empty()) return own;
  }
  return "";
}

}  // namespace lact::parallel
