#include <charconv>
#include <chrono>
#include <filesystem>

#include "lact/tasks/lm/serving/request_fields.h"
#include "lact/tasks/lm/serving/routes.h"

namespace lact::tasks::lm {

namespace {

namespace fs = std::filesystem;

int64_t slot_number(const std::string& text, int64_t count) {
  int64_t slot = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), slot);
  if (error != std::errc() || end != text.data() + text.size() || slot < 0 || slot >= count) {
    refuse_request(400, "There is no such slot, expected one from 0 to {}", count - 1);
  }
  return slot;
}

/// A name in the folder of the slots, never a path out of it.
std::string slot_file(const ServingParts& parts, const serve::HttpRequest& request, std::string& name) {
  if (parts.options.slot_save_path.empty()) {
    refuse_request(501, "This server keeps no slots: it was started without --slot-save-path");
  }
  const ApiJson body = parse_body(request.body);
  RequestFields fields(body, "the request");
  name = fields.required_text("filename");
  fields.finish();
  check_memory_name(name, "filename");
  return (fs::path(parts.options.slot_save_path) / name).string();
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

serve::HttpResponse save_slot(ServingParts& parts, const serve::HttpRequest& request, int64_t slot) {
  std::string name;
  const std::string path = slot_file(parts, request, name);
  const TextState state = parts.engine.slot_state(slot);
  if (!state) refuse_request(400, "Slot {} holds nothing yet", slot);
  const auto start = std::chrono::steady_clock::now();
  save_text_state(path, state, parts.lm);
  return json_response({{"id_slot", slot},
                        {"filename", name},
                        {"n_saved", state->position()},
                        {"n_written", fs::file_size(path)},
                        {"timings", {{"save_ms", milliseconds_since(start)}}}});
}

serve::HttpResponse restore_slot(ServingParts& parts, const serve::HttpRequest& request, int64_t slot) {
  std::string name;
  const std::string path = slot_file(parts, request, name);
  if (!fs::is_regular_file(path)) refuse_request(404, "There is no file \"{}\" of a slot", name);
  const auto start = std::chrono::steady_clock::now();
  const TextState state = load_text_state(path, parts.lm);
  parts.engine.set_slot_state(slot, state);
  return json_response({{"id_slot", slot},
                        {"filename", name},
                        {"n_restored", state->position()},
                        {"n_read", fs::file_size(path)},
                        {"timings", {{"restore_ms", milliseconds_since(start)}}}});
}

serve::HttpResponse erase_slot(ServingParts& parts, int64_t slot) {
  const TextState state = parts.engine.slot_state(slot);
  parts.engine.set_slot_state(slot, nullptr);
  return json_response({{"id_slot", slot}, {"n_erased", state ? state->position() : 0}});
}

}  // namespace

std::vector<Route> slot_routes(ServingParts& parts) {
  return {at_once("POST", "/slots/{id}", [&parts](const auto& request, const PathParts& path) {
    const int64_t slot = slot_number(path.at("id"), parts.options.slots);
    const std::string action = request.parameter("action");
    if (action == "save") return save_slot(parts, request, slot);
    if (action == "restore") return restore_slot(parts, request, slot);
    if (action == "erase") return erase_slot(parts, slot);
    refuse_request(400, "action is \"{}\", expected save, restore or erase", action);
  })};
}

}  // namespace lact::tasks::lm
