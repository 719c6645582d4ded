// Many texts at once over one model (continuous batching). Texts that are being written advance together, so
// that the weights are read once for all of them; prompts are read in pieces in between, so that no one waits
// for another's long prompt. What a text gets does not depend on the others.
//
//   Engine engine(load("run"), {});
//   engine.submit({.prompt = tokens}, {.wrote = [](auto bytes, auto) { std::cout << bytes; }});
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lact/models/lm/generate.h"
#include "lact/tasks/lm/engine/state_store.h"
#include "lact/tasks/lm/engine/text_state.h"

namespace lact::tasks::lm {

struct EngineOptions {
  int64_t slots = 8;
  int64_t prompt_piece = 256;
  int64_t draft_tokens = 3;
  StateStoreOptions store = {};

  template <class Visitor>
  void visit(Visitor&& field) {
    field("slots", slots, "texts that are read and written at once; others wait");
    field("prompt_piece", prompt_piece,
          "tokens of a prompt that are read at once, between those being written");
    field("draft_tokens", draft_tokens, "tokens that a draft model proposes at once");
    field("store", store, "states that later texts may continue from");
  }
  bool operator==(const EngineOptions&) const = default;

  void check() const;
};

struct TextRequest {
  std::vector<int64_t> prompt = {};  ///< follows `from`
  TextState from = {};    ///< null: the beginning, or the longest part of the prompt that the store knows
  bool use_store = true;  ///< look there, and leave states there
  models::GenerateOptions options = {};
  int64_t top_logprobs = -1;  ///< -1: none; n >= 0: the chosen token's log-probability and the n likeliest
  int64_t slot = -1;          ///< a wish; -1: any that is free
};

struct WrittenToken {
  int64_t token;
  float logprob;                               ///< of the model, before temperature and penalties
  std::vector<std::pair<int64_t, float>> top;  ///< the likeliest first
};

struct TextOutcome {
  enum Reason { length, end_of_text, stop_string, cancelled, failed } reason = length;
  std::string stopping_word, error;
  int64_t prompt_tokens = 0, cached_tokens = 0, written_tokens = 0;
  double prompt_seconds = 0, write_seconds = 0;  ///< without the time of waiting for a slot
  int64_t slot = -1;
  int64_t draft_tokens = 0, draft_accepted = 0;
  TextState
      state;  ///< after the last token read, which a token that ended the text is not; null if it failed
};

constexpr std::array<std::pair<TextOutcome::Reason, std::string_view>, 5> enum_names(TextOutcome::Reason) {
  return {{{TextOutcome::length, "length"},
           {TextOutcome::end_of_text, "end_of_text"},
           {TextOutcome::stop_string, "stop_string"},
           {TextOutcome::cancelled, "cancelled"},
           {TextOutcome::failed, "failed"}}};
}

/// Called on the engine's thread: they must be quick and must not throw. Any may be empty.
struct TextEvents {
  std::function<void(int64_t total, int64_t cached, int64_t processed)> progress;  ///< of the prompt
  /// Bytes that cannot become part of a stop string any more, perhaps none, and the tokens drawn since.
  std::function<void(const std::string& certain_bytes, std::span<const WrittenToken>)> wrote;
  std::function<void(const TextOutcome&)> finished;  ///< exactly once
};

struct SlotStatus {
  bool busy = false;
  uint64_t ticket = 0;
  int64_t prompt_tokens = 0, prompt_read = 0, cached_tokens = 0, written = 0, position = 0;
  int64_t kept_tokens = 0, kept_bytes = 0;  ///< of the state that its last text left to the store
};

struct EngineStatus {
  std::vector<SlotStatus> slots;
  int64_t waiting = 0;
  int64_t texts_finished = 0;
  int64_t prompt_tokens = 0, written_tokens = 0;  ///< of all texts; prompt tokens that had to be read
  double prompt_seconds = 0, write_seconds = 0;   ///< that the engine spent on each
  int64_t decode_steps = 0, busy_slots = 0;       ///< the latter summed up over these steps
  int64_t draft_tokens = 0, draft_accepted = 0;
};

class Engine {
 public:
  /// `draft`: a smaller model of the same vocabulary that proposes tokens; the text is the same without it.
  Engine(Loaded lm, const EngineOptions& options, std::optional<Loaded> draft = {});
  ~Engine();  ///< cancels everything; every `finished` has been called afterwards

  using Ticket = uint64_t;
  /// A request that makes no sense throws. With max_tokens = 0 the prompt is read and nothing written.
  Ticket submit(TextRequest request, TextEvents events);
  void cancel(Ticket ticket);  ///< `finished` follows, unless it has come already

  EngineStatus status() const;
  const Loaded& lm() const;
  StateStore& store();

  /// What the last text of a slot left to the store; null if that is nothing, or no more there.
  TextState slot_state(int64_t slot);
  /// Puts it into the store, which texts that begin like it look through; null forgets what was there. Throws
  /// a sentence if it is larger than the whole store.
  void set_slot_state(int64_t slot, const TextState& state);

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace lact::tasks::lm
