// The engine's thread: takes texts in, advances all of them step by step, lets finished ones go.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

#include "lact/tasks/lm/engine/engine.h"
#include "lact/tasks/lm/engine/running_text.h"

namespace lact::tasks::lm {

class Engine::Loop {
 public:
  Loop(Loaded lm, const EngineOptions& options, std::optional<Loaded> draft);
  ~Loop();

  Ticket submit(TextRequest request, TextEvents events);
  void cancel(Ticket ticket);
  EngineStatus status() const;
  TextState slot_state(int64_t slot);
  void set_slot_state(int64_t slot, const TextState& state);

  const Loaded& lm() const { return lm_; }
  StateStore& store() { return store_; }

 private:
  struct Waiting {
    Ticket ticket;
    TextRequest request;
    TextEvents events;
  };
  struct Slot {
    std::unique_ptr<RunningText> text;  ///< of the thread alone
    // What the last text left to the store; under the mutex.
    std::string kept;
    int64_t kept_tokens = 0, kept_bytes = 0;

    void keep(const TextState& state);  ///< null: nothing
    SlotStatus status() const;
  };

  void run();
  /// Waits for work; false at the end.
  bool take_orders(std::vector<Waiting>& given_up, std::set<Ticket>& cancelled);
  void admit();
  int64_t free_slot(const TextRequest& request) const;
  void write_step();
  void read_step();
  void draw_together(const std::vector<RunningText*>& texts);
  void propose_together(const std::vector<RunningText*>& texts);
  void read_together(const std::vector<RunningText*>& texts);
  std::vector<RunningText*> writing() const;
  void finish_all_that_ended();
  void end(RunningText& text, TextOutcome::Reason reason, const std::string& error = "");
  void fail(RunningText& text, const std::exception_ptr& failure);
  void publish();
  void check_slot(int64_t slot) const;

  const Loaded lm_;
  const EngineOptions options_;
  const std::optional<Loaded> draft_;
  StateStore store_;
  std::vector<Slot> slots_;
  size_t next_reader_ = 0;  ///< whose turn it is to read a piece of a prompt

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Waiting> waiting_;
  std::set<Ticket> cancelled_;
  Ticket last_ticket_ = 0;
  EngineStatus status_;
  bool stopping_ = false;
  std::thread thread_;  ///< the last member: it begins when all others are there
};

}  // namespace lact::tasks::lm
