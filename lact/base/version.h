// The version of this library, as the build states it.
#pragma once

namespace lact {

/// "0.1.0"
const char* version();

}  // namespace lact
