#include "lact/models/common/weights_fit.h"

#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/format.h"
#include "lact/base/out_of_memory.h"

namespace lact::models {

void check_parameters(const ModelCost& cost) {
  const auto parameters = double(cost.total().parameters);
  check_memory_for(parameters, fmt::format("a model of {} parameters", format_count(parameters)));
}

void check_weights_fit(const std::string& folder, const ModelCost& cost, const std::string& stem) {
  namespace fs = std::filesystem;
  const auto parameters = double(cost.total().parameters);
  double bytes = 0;
  bool found = false;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(stem) || !name.ends_with(".safetensors")) continue;
    std::error_code unreadable;
    const auto size = fs::file_size(entry->path(), unreadable);
    found = true;
    if (!unreadable) bytes += double(size);
  }
  LACT_CHECK(!found || parameters <= bytes,
             "{}: config.json is that of a model of {} parameters, but the weights beside it have {}", folder,
             format_count(parameters), format_bytes(bytes));
}

}  // namespace lact::models
