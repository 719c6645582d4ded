#include "lact/tasks/lm/serving/long_answer.h"

namespace lact::tasks::lm {

namespace {

constexpr std::chrono::seconds kSilence{15};
/// What servers say that want nothing to be kept back on the way.
const std::vector<std::pair<std::string, std::string>> kStreamHeaders = {{"X-Accel-Buffering", "no"}};

}  // namespace

LongAnswer::LongAnswer(Engine& engine, serve::HttpReply reply, bool stream, double limit_seconds)
    : engine_(engine), reply_(std::move(reply)), stream_(stream), limit_seconds_(limit_seconds) {}

void LongAnswer::watch_client() {
  reply_.when_gone([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->give_up(499, "The client has gone.");
  });
}

void LongAnswer::submit(TextRequest request, TextEvents events) {
  const auto ticket = engine_.submit(std::move(request), std::move(events));
  {
    const std::lock_guard lock(mutex_);
    tickets_.push_back(ticket);
    if (!ended_) return;
  }
  engine_.cancel(ticket);
}

void LongAnswer::cancel_texts() {
  std::vector<Engine::Ticket> tickets;
  {
    const std::lock_guard lock(mutex_);
    tickets = tickets_;
  }
  for (const auto ticket : tickets) engine_.cancel(ticket);
}

void LongAnswer::tick(Clock::time_point now) {
  if (limit_seconds_ > 0 && std::chrono::duration<double>(now - start_).count() > limit_seconds_) {
    return give_up(504, fmt::format("The request took longer than {} seconds", limit_seconds_));
  }
  const std::lock_guard lock(mutex_);
  if (stream_ && !ended_ && now - last_sign_ > kSilence) write(": still here\n\n");
}

void LongAnswer::write(const std::string& bytes) {
  last_sign_ = Clock::now();
  if (begun_) return reply_.write(bytes);
  begun_ = true;
  reply_.begin({200, "text/event-stream; charset=utf-8", bytes, kStreamHeaders});
}

void LongAnswer::send_event(const ApiJson& json) {
  const std::lock_guard lock(mutex_);
  if (!ended_) write("data: " + json_line(json) + "\n\n");
}

void LongAnswer::end_stream(const std::string& mark) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(ended_, true)) return;
  if (!mark.empty()) write(mark);
  reply_.end();
}

void LongAnswer::send_whole(const ApiJson& json, int status) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(ended_, true)) reply_.send(json_response(json, status));
}

void LongAnswer::give_up(int status, const std::string& sentence) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(ended_, true)) return;
    if (begun_) {
      reply_.write("data: " + json_line(error_json(status, sentence)) + "\n\n");
      reply_.end();
    } else {
      reply_.send(error_response(status, sentence));
    }
  }
  cancel_texts();
}

}  // namespace lact::tasks::lm
