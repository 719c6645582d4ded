// Memory that cannot be had is one sentence that says what was being made:
//
//   auto model = making("the weights of lm_3b", [&] { return Model(config); });
//   check_memory_for(bytes, "the weights of lm_3b");   // before anything is taken, where the size is known
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "lact/base/error.h"

namespace lact {

/// Less memory than was asked for: a smaller model, batch or picture, or another machine, is the cure.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// Whether `error` is a refusal of memory by the standard library or by LibTorch's allocators.
bool is_out_of_memory(const std::exception& error);

/// "not enough memory for the model's weights (4.4 TB at once; this machine has 25.0 GB)". What LibTorch's
/// message says about the size is taken from it. `what` may be empty.
std::string out_of_memory_sentence(const std::exception& error, const std::string& what);

/// The result of `make()`. Memory refused while it runs becomes OutOfMemory that names `what`; where such
/// calls lie in one another, the innermost speaks.
template <class Make>
decltype(auto) making(const std::string& what, Make&& make) {
  try {
    return std::forward<Make>(make)();
  } catch (const OutOfMemory&) {
    throw;
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) throw;
    throw OutOfMemory(out_of_memory_sentence(error, what));
  }
}

/// Throws OutOfMemory if `bytes` are more than this machine has at all. The system itself often grants such
/// memory and ends the process when it is used.
void check_memory_for(double bytes, const std::string& what);

}  // namespace lact
