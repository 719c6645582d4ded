// What the export verbs of all models share: a folder of its own that holds a model and nothing of its
// training.
#pragma once

#include <c10/core/ScalarType.h>

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace lact::cli {

struct ModelExport {
  std::string model, type = "bf16", output;
};

void add_export_type(CLI::App& verb, ModelExport& words);

/// Refuses a folder that holds a model, calls `save`, which writes the folder, and says how large it became.
void export_model_folder(const ModelExport& words, const std::function<void(c10::ScalarType)>& save);

}  // namespace lact::cli
