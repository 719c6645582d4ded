// One golden case: <name>.json says what to compute and how closely, <name>.safetensors holds inputs and
// results.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "lact/base/options.h"

namespace lact::golden {

struct Case {
  std::string name;           ///< path below the folder, without ending
  std::string file;           ///< the JSON file, for messages
  std::string kind;           ///< what to compute
  options::Json description;  ///< the whole JSON
  std::map<std::string, at::Tensor> tensors;

  /// How far the result may be from a stored tensor, relative to that tensor's largest element.
  double tolerance(const std::string& tensor) const;

  /// Whether the case says that rounding alone moves this tensor far.
  bool ill_conditioned(const std::string& tensor) const;
};

/// Every <name>.json with a <name>.safetensors beside it, below `folder`, sorted; or the case itself if it is
/// a file.
std::vector<std::filesystem::path> find_cases(const std::filesystem::path& folder);

/// Throws a sentence that names the file if it is not a case.
Case read_case(const std::filesystem::path& json, const std::filesystem::path& folder);

}  // namespace lact::golden
