#include "lact/base/one_sentence.h"

#include <algorithm>
#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/out_of_memory.h"

namespace lact {

std::string one_sentence(const std::exception& error) {
  if (dynamic_cast<const Error*>(&error) != nullptr) return error.what();
  if (is_out_of_memory(error)) return out_of_memory_sentence(error, "");
  if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error)) {
    const std::string path = file->path2().empty() ? file->path1().string() : file->path2().string();
    return fmt::format("{}: {}", path, file->code().message());
  }
  std::string line = error.what();
  line.resize(std::min(line.size(), line.find_first_of("\r\n")));
  return line.empty() ? "an error without a message" : line;
}

bool is_callers_mistake(const std::exception& error) {
  return dynamic_cast<const Error*>(&error) != nullptr || is_out_of_memory(error) ||
         dynamic_cast<const std::filesystem::filesystem_error*>(&error) != nullptr;
}

}  // namespace lact
