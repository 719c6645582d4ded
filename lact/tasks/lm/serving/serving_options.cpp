#include "lact/tasks/lm/serving/serving_options.h"

#include <cmath>
#include <filesystem>

#include "lact/base/error.h"

namespace lact::tasks::lm {

namespace {

constexpr int64_t kMebibyte = int64_t{1} << 20;

}  // namespace

void ServingOptions::check() const {
  LACT_CHECK(connections >= 1 && connections <= 65536, "[serve] --connections is {}, expected 1 to 65536",
             connections);
  LACT_CHECK(body_mib >= 1 && body_mib <= 1 << 16, "[serve] --body-mib is {}, expected 1 to 65536", body_mib);
  LACT_CHECK(max_tokens_limit >= 1, "[serve] --max-tokens-limit is {}, expected 1 or more", max_tokens_limit);
  LACT_CHECK(max_choices >= 1 && max_choices <= 1024, "[serve] --max-choices is {}, expected 1 to 1024",
             max_choices);
  LACT_CHECK(request_seconds >= 0 && std::isfinite(request_seconds),
             "[serve] --request-seconds is {}, expected 0 or more", request_seconds);
  LACT_CHECK(memory_ram_mib >= 0 && memory_folder_mib >= 0, "[serve] a budget of memory is negative");
  LACT_CHECK(slot_save_path.empty() || std::filesystem::is_directory(slot_save_path),
             "[serve] --slot-save-path is \"{}\", expected a folder that exists", slot_save_path);
  for (const std::string& origin : allow_origin) {
    const bool is_origin = origin == "*" || origin.starts_with("http://") || origin.starts_with("https://");
    LACT_CHECK(is_origin && !origin.ends_with('/'),
               "[serve] --allow-origin is \"{}\", expected a site such as http://127.0.0.1:3000, or *",
               origin);
  }
  engine().check();
}

EngineOptions ServingOptions::engine() const {
  EngineOptions options;
  options.slots = slots;
  options.prompt_piece = prompt_piece;
  options.draft_tokens = draft_tokens;
  options.store.store_ram_bytes = memory_ram_mib * kMebibyte / 2;
  options.store.store_folder_bytes = memory_folder_mib * kMebibyte / 2;
  if (!memory_folder.empty()) {
    options.store.store_folder = (std::filesystem::path(memory_folder) / "beginnings").string();
  }
  return options;
}

serve::ServerOptions ServingOptions::server() const {
  serve::ServerOptions options;
  options.host = host;
  options.port = int(port);
  options.names = allow_host;
  options.origins = allow_origin;
  options.connections = int(connections);
  options.body_bytes = size_t(body_mib * kMebibyte);
  options.all_body_bytes = 4 * options.body_bytes + (size_t{1} << 30);
  return options;
}

}  // namespace lact::tasks::lm
