#include "lact/base/version.h"

namespace lact {

const char* version() { return LACT_VERSION; }

}  // namespace lact
