// By which of its addresses other machines reach this one. A machine's name is no answer: it often stands for
// 127.0.1.1, or for nothing in a container.
#pragma once

#include <string>

namespace lact::parallel {

/// The address that this machine has on the way to `address` (a name or a number): that of the interface
/// which the system's routes choose. "" where there is no way.
std::string own_address_towards(const std::string& address);

}  // namespace lact::parallel
