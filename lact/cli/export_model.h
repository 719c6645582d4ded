// What the verbs that export a model share: half as large, in a folder of its own, to be handed on.
#pragma once

#include <c10/core/ScalarType.h>

#include <string>

namespace CLI {
class App;
}

namespace lact::cli {

struct ExportArguments {
  std::string model, type = "bf16", output;

  at::ScalarType scalar_type() const { return type == "bf16" ? at::kBFloat16 : at::kFloat; }
};

/// --type; MODEL and -o are the verb's own.
void add_export_type(CLI::App& verb, ExportArguments& arguments);

/// Throws a sentence if the output holds a model already.
void check_export_is_new(const ExportArguments& arguments);

/// Says where the model went, and how large it is.
void print_exported(const ExportArguments& arguments);

}  // namespace lact::cli
