#include "lact/tasks/lm/serving/metrics.h"

#include <fmt/format.h>

#include <algorithm>

#include "lact/base/memory_use.h"

namespace lact::tasks::lm {

namespace {

struct Metric {
  const char *name, *kind, *help;
  double value;
};

double share(double amount, double whole) { return whole > 0 ? amount / whole : 0; }

}  // namespace

serve::HttpResponse metrics_response(ServingParts& parts) {
  const EngineStatus engine = parts.engine.status();
  const StateStoreStatus store = parts.engine.store().status();
  const auto busy = std::count_if(engine.slots.begin(), engine.slots.end(),
                                  [](const SlotStatus& slot) { return slot.busy; });
  int64_t longest = 0;
  for (const SlotStatus& slot : engine.slots) longest = std::max(longest, slot.position);
  const Metric metrics[] = {
      {"prompt_tokens_total", "counter", "Prompt tokens that were read.", double(engine.prompt_tokens)},
      {"prompt_seconds_total", "counter", "Seconds spent on reading them.", engine.prompt_seconds},
      {"prompt_tokens_seconds", "gauge", "Prompt tokens per second, on average.",
       share(double(engine.prompt_tokens), engine.prompt_seconds)},
      {"tokens_predicted_total", "counter", "Tokens that were written.", double(engine.written_tokens)},
      {"tokens_predicted_seconds_total", "counter", "Seconds spent on writing them.", engine.write_seconds},
      {"predicted_tokens_seconds", "gauge", "Written tokens per second, on average.",
       share(double(engine.written_tokens), engine.write_seconds)},
      {"requests_processing", "gauge", "Texts that are being read or written.", double(busy)},
      {"requests_deferred", "gauge", "Texts that wait for a slot.", double(engine.waiting)},
      {"requests_total", "counter", "Texts that have ended.", double(engine.texts_finished)},
      {"n_tokens_max", "gauge", "Length of the longest text at the moment.", double(longest)},
      {"n_decode_total", "counter", "Steps in which texts were written.", double(engine.decode_steps)},
      {"n_busy_slots_per_decode", "gauge", "Texts per such step, on average.",
       share(double(engine.busy_slots), double(engine.decode_steps))},
      {"draft_tokens_total", "counter", "Tokens that the draft model proposed.", double(engine.draft_tokens)},
      {"draft_tokens_accepted_total", "counter", "Of these, tokens that were kept.",
       double(engine.draft_accepted)},
      {"store_states", "gauge", "Beginnings of texts that are kept.",
       double(store.in_memory + store.on_disk)},
      {"store_bytes", "gauge", "Memory that they take.", double(store.memory_bytes)},
      {"store_asked_total", "counter", "Texts whose beginning was looked for.", double(store.asked)},
      {"store_found_total", "counter", "Of these, texts whose beginning was known.", double(store.found)},
      {"memories", "gauge", "Named memories.", double(parts.shelf.list().size())},
      {"memories_bytes", "gauge", "Memory that they take.", double(parts.shelf.ram_bytes_used())},
      {"resident_bytes", "gauge", "Memory of the whole process.", double(resident_bytes())}};
  std::string text;
  for (const Metric& metric : metrics) {
    text += fmt::format("# HELP lact:{0} {1}\n# TYPE lact:{0} {2}\nlact:{0} {3}\n", metric.name, metric.help,
                        metric.kind, metric.value);
  }
  return {200, "text/plain; version=0.0.4; charset=utf-8", text};
}

}  // namespace lact::tasks::lm
