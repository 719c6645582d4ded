#include "lact/io/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "lact/base/error.h"
#include "lact/base/log.h"

namespace lact::io {

int open_locked(const std::string& file, const std::string& taken) {
  const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  LACT_CHECK(descriptor >= 0, "{}: cannot be opened: {}", file, std::generic_category().message(errno));
  int result = 0;
  while ((result = flock(descriptor, LOCK_EX | LOCK_NB)) != 0 && errno == EINTR) {
  }
  if (result == 0) return descriptor;
  const int reason = errno;
  if (reason == EWOULDBLOCK) {
    close(descriptor);
    throw Error(taken);
  }
  // Some network file systems have no locks.
  log::warn("{}: cannot be locked ({}): let no other process use its folder", file,
            std::generic_category().message(reason));
  return descriptor;
}

}  // namespace lact::io
