// An answer that takes time: texts of the engine on one side, a client that may leave on the other.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lact/serve/http_reply.h"
#include "lact/tasks/lm/engine/engine.h"
#include "lact/tasks/lm/serving/api_error.h"

namespace lact::tasks::lm {

/// Whole, or as a stream of server-sent events. Its functions may be called by any thread; after the answer
/// has ended, by whoever, they do nothing.
class LongAnswer : public std::enable_shared_from_this<LongAnswer> {
 public:
  using Clock = std::chrono::steady_clock;

  LongAnswer(Engine& engine, serve::HttpReply reply, bool stream, double limit_seconds);
  virtual ~LongAnswer() = default;

  /// Asked for now and then: sends a sign of life in a silent stream, and gives up what takes too long.
  void tick(Clock::time_point now);

  /// Ends it with an error, and the texts with it.
  void give_up(int status, const std::string& sentence);

 protected:
  /// The client's leaving ends the texts from now on.
  void watch_client();

  /// Gives a text to the engine; what is wrong with it throws.
  void submit(TextRequest request, TextEvents events);

  // Of a stream; the first begins it.
  void send_event(const ApiJson& json);
  void end_stream(const std::string& mark = "");

  void send_whole(const ApiJson& json, int status = 200);

  bool streams() const { return stream_; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  void cancel_texts();
  /// Under the lock.
  void write(const std::string& bytes);

  Engine& engine_;
  const serve::HttpReply reply_;
  const bool stream_;
  const double limit_seconds_;  ///< 0: none
  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  bool begun_ = false, ended_ = false;
  Clock::time_point last_sign_ = start_;
  std::vector<Engine::Ticket> tickets_;
};

}  // namespace lact::tasks::lm
