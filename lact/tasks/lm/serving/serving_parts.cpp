#include "lact/tasks/lm/serving/serving_parts.h"

#include <chrono>
#include <filesystem>

namespace lact::tasks::lm {

namespace {

constexpr int kWorkers = 4;

std::string name_of_model(const Loaded& lm, const std::string& alias) {
  if (!alias.empty()) return alias;
  const auto folder = std::filesystem::path(lm.path).lexically_normal();
  const auto name = folder.has_filename() ? folder.filename() : folder.parent_path().filename();
  return name.empty() ? "lact" : name.string();
}

MemoryShelfOptions shelf_options(const ServingOptions& serving) {
  MemoryShelfOptions options;
  options.ram_bytes = (serving.memory_ram_mib << 20) / 2;
  options.folder_bytes = (serving.memory_folder_mib << 20) / 2;
  options.folder = serving.memory_folder;
  return options;
}

int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

ServingParts::ServingParts(Loaded loaded, std::optional<Loaded> draft, const ServingOptions& serving)
    : options(serving),
      lm(std::move(loaded)),
      chat(read_chat_template(serving.chat_template, lm.path)),
      limits{serving.max_tokens_limit, serving.max_choices, lm.model->config().vocabulary_size},
      model_name(name_of_model(lm, serving.alias)),
      started(seconds_now()),
      shelf(lm, shelf_options(serving)),
      work(kWorkers),
      engine_place(std::in_place, lm, serving.engine(), std::move(draft)),
      engine(*engine_place) {}

ServingParts::~ServingParts() {
  long_answers.stop();
  work.stop();
  engine_place.reset();
}

std::vector<int64_t> encoded(const Loaded& lm, const std::string& text, bool continues) {
  const auto tokens = continues ? lm.tokenizer->encode_continuation(text) : lm.tokenizer->encode(text);
  return {tokens.begin(), tokens.end()};
}

}  // namespace lact::tasks::lm
