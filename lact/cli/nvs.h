// The verbs of `lact nvs`, one file each.
#pragma once

namespace CLI {
class App;
}

namespace lact::cli {

void add_nvs_train(CLI::App& task, int& exit_code);

}  // namespace lact::cli
