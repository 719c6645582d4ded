#include "lact/base/terminal.h"

#include <sys/ioctl.h>

namespace lact {

int terminal_columns(int descriptor) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace lact
