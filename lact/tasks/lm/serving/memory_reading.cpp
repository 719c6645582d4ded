#include "lact/tasks/lm/serving/memory_reading.h"

#include "lact/base/json_text.h"
#include "lact/data/text/utf8.h"
#include "lact/tasks/lm/serving/answer_form.h"
#include "lact/tasks/lm/serving/request_fields.h"

namespace lact::tasks::lm {

MemoryWish parse_memory_wish(const ApiJson& body) {
  RequestFields fields(body, "the request");
  MemoryWish wish;
  wish.name = fields.required_text("name");
  const std::string text = fields.text("text");
  if (!text.empty()) wish.documents.push_back(text);
  if (const ApiJson* list = fields.find("documents")) {
    if (!list->is_array())
      refuse_request(400, "documents is {}, expected a list of texts", shown_json(*list));
    for (const ApiJson& each : *list) {
      if (!each.is_string()) refuse_request(400, "documents holds {}, expected texts", shown_json(each));
      wish.documents.push_back(each.get<std::string>());
    }
  }
  wish.memory = fields.text("memory");
  wish.replace = fields.flag("replace", false);
  wish.stream = fields.flag("stream", false);
  fields.finish();
  return wish;
}

ApiJson memory_json(const MemoryInfo& info) {
  return {{"object", "memory"},      {"name", info.name},     {"tokens", info.tokens},  {"bytes", info.bytes},
          {"created", info.created}, {"in_ram", info.in_ram}, {"on_disk", info.on_disk}};
}

MemoryReading::MemoryReading(ServingParts& parts, MemoryWish wish, serve::HttpReply reply)
    : LongAnswer(parts.engine, std::move(reply), wish.stream, parts.options.request_seconds),
      parts_(parts),
      wish_(std::move(wish)) {}

std::vector<int64_t> MemoryReading::tokens(const TextState& from) const {
  std::vector<int64_t> all;
  for (const std::string& document : wish_.documents) {
    if (const auto place = data::find_invalid_utf8(document)) {
      refuse_request(400, "a document is not UTF-8 at byte {}", *place);
    }
    if (from || !all.empty()) all.push_back(parts_.lm.tokenizer->end_of_text());
    const auto own = encoded(parts_.lm, document, /*continues=*/false);
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

void MemoryReading::start() {
  check_memory_name(wish_.name);
  if (!wish_.replace) {
    for (const MemoryInfo& known : parts_.shelf.list()) {
      if (known.name == wish_.name) {
        refuse_request(409, "There is a memory \"{}\" already; \"replace\": true replaces it", wish_.name);
      }
    }
  }
  TextRequest reading;
  if (!wish_.memory.empty()) reading.from = parts_.shelf.get(wish_.memory);
  reading.prompt = tokens(reading.from);
  if (reading.prompt.empty()) refuse_request(400, "There is nothing to read: give \"text\" or \"documents\"");
  reading.options.max_tokens = 0;
  TextEvents events;
  if (streams()) {
    events.progress = [self = self()](int64_t total, int64_t cached, int64_t processed) {
      self->send_event({{"progress",
                         {{"total", total},
                          {"cache", cached},
                          {"processed", processed},
                          {"time_ms", int64_t(1e3 * self->seconds())}}}});
    };
  }
  events.finished = [self = self()](const TextOutcome& outcome) {
    if (outcome.reason == TextOutcome::failed) return self->give_up(500, outcome.error);
    if (outcome.reason == TextOutcome::cancelled) return self->give_up(503, "The reading was cancelled.");
    self->parts_.work.push([self, outcome] { self->conclude(outcome); });
  };
  parts_.long_answers.add(shared_from_this());
  watch_client();
  submit(std::move(reading), std::move(events));
}

void MemoryReading::conclude(const TextOutcome& outcome) {
  try {
    ApiJson answer = memory_json(parts_.shelf.put(wish_.name, outcome.state, wish_.replace));
    answer["read_tokens"] = outcome.prompt_tokens - outcome.cached_tokens;
    answer["cached_tokens"] = outcome.cached_tokens;
    answer["timings"] = timings_json(outcome);
    if (!streams()) return send_whole(answer, 201);
    send_event(answer);
    end_stream("data: [DONE]\n\n");
  } catch (const ApiError& error) {
    give_up(error.status(), error.what());
  } catch (const std::exception& error) {
    give_up(500, error.what());
  }
}

}  // namespace lact::tasks::lm
