#include "lact/base/out_of_memory.h"

#include <cstring>
#include <new>

#include "lact/base/format.h"
#include "lact/base/memory_use.h"

namespace lact {

namespace {

/// The number after "you tried to allocate" of LibTorch's allocator for processors; 0 without one.
double bytes_asked_for(const char* message) {
  static constexpr const char* kWords = "you tried to allocate ";
  const char* found = std::strstr(message, kWords);
  return found == nullptr ? 0 : std::strtod(found + std::strlen(kWords), nullptr);
}

std::string sentence(const std::string& what, double bytes) {
  std::string text = "not enough memory";
  if (!what.empty()) text += " for " + what;
  if (bytes > 0) {
    text += fmt::format(" ({} at once; this machine has {})", format_bytes(bytes),
                        format_bytes(double(machine_memory_bytes())));
  }
  return text;
}

}  // namespace

bool is_out_of_memory(const std::exception& error) {
  if (dynamic_cast<const OutOfMemory*>(&error) != nullptr) return true;
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return true;
  // LibTorch 1.13 has no type of its own for it on processors.
  const char* message = error.what();
  return std::strstr(message, "can't allocate memory: you tried to allocate") != nullptr ||
         std::strstr(message, "not enough memory: you tried to allocate") != nullptr ||
         std::strstr(message, "CUDA out of memory") != nullptr;
}

std::string out_of_memory_sentence(const std::exception& error, const std::string& what) {
  return sentence(what, bytes_asked_for(error.what()));
}

void check_memory_for(double bytes, const std::string& what) {
  if (bytes > double(machine_memory_bytes())) throw OutOfMemory(sentence(what, bytes));
}

}  // namespace lact
