#include "lact/ttt/schedule.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/base/options.h"

namespace lact::ttt {

namespace {

void check_lengths(int64_t tokens, int64_t chunk) {
  LACT_CHECK(tokens > 0, "[schedule] the sequence has {} tokens, expected at least 1", tokens);
  LACT_CHECK(chunk > 0, "[schedule] the chunk is {} tokens long, expected at least 1", chunk);
}

/// Cuts [0, tokens) into chunks and asks `operation` what to do with each.
template <class OperationOf>
Schedule by_chunks(int64_t tokens, int64_t chunk, OperationOf operation) {
  check_lengths(tokens, chunk);
  Schedule schedule;
  for (int64_t begin = 0, index = 0; begin < tokens; begin += chunk, ++index) {
    const Range range = {begin, std::min(begin + chunk, tokens)};
    schedule.push_back({operation(index, range), range});
  }
  return schedule;
}

void check_once(std::vector<Step> steps, const char* done) {
  std::sort(steps.begin(), steps.end(),
            [](const Step& a, const Step& b) { return a.tokens.begin < b.tokens.begin; });
  for (size_t i = 1; i < steps.size(); ++i) {
    const Range a = steps[i - 1].tokens, b = steps[i].tokens;
    LACT_CHECK(a.end <= b.begin, "[schedule] tokens [{}, {}) and [{}, {}) overlap: a token is {} twice",
               a.begin, a.end, b.begin, b.end, done);
  }
}

}  // namespace

bool restarts(const Schedule& schedule) {
  return std::any_of(schedule.begin(), schedule.end(),
                     [](const Step& step) { return step.operation == Operation::restart; });
}

void check_schedule(const Schedule& schedule, Range queries, Range keys, bool may_be_empty) {
  Schedule reads, writes;
  for (const auto& step : schedule) {
    const Range tokens = step.tokens;
    const auto word = options::word_of(step.operation);
    if (step.operation == Operation::restart) {
      LACT_CHECK(tokens.empty(), "[schedule] restart [{}, {}) is not an empty range", tokens.begin,
                 tokens.end);
      continue;
    }
    LACT_CHECK(!tokens.empty() || (may_be_empty && tokens.size() == 0),
               "[schedule] {} [{}, {}) is an empty range", word, tokens.begin, tokens.end);
    const auto check_inside = [&](Range whole, const char* what) {
      LACT_CHECK(whole.begin <= tokens.begin && tokens.end <= whole.end,
                 "[schedule] {} [{}, {}) is out of range: {} are [{}, {})", word, tokens.begin, tokens.end,
                 what, whole.begin, whole.end);
    };
    if (applies(step.operation)) {
      check_inside(queries, "the tokens");
      reads.push_back(step);
    }
    if (updates(step.operation)) {
      check_inside(keys, "the tokens that can be written");
      writes.push_back(step);
    }
  }
  check_once(std::move(reads), "read");
  check_once(std::move(writes), "written");
}

Schedule full_schedule(int64_t tokens) { return block_causal_schedule(tokens, tokens); }

Schedule block_causal_schedule(int64_t tokens, int64_t chunk) {
  return by_chunks(tokens, chunk, [](int64_t, Range) { return Operation::update_then_apply; });
}

Schedule shifted_schedule(int64_t tokens, int64_t chunk) {
  return by_chunks(tokens, chunk, [&](int64_t, Range range) {
    return range.end == tokens ? Operation::apply : Operation::apply_then_update;
  });
}

Schedule strided_schedule(int64_t tokens, int64_t chunk, int64_t stride, int64_t phase) {
  LACT_CHECK(stride > 0, "[schedule] the stride is {} chunks, expected at least 1", stride);
  LACT_CHECK(phase >= 0 && phase < stride, "[schedule] the phase is {}, expected 0 to {}", phase, stride - 1);
  return by_chunks(tokens, chunk, [&](int64_t index, Range) {
    return index % stride == phase ? Operation::update_then_apply : Operation::apply;
  });
}

Schedule shifted_piece(int64_t begin, int64_t tokens, int64_t chunk) {
  check_lengths(tokens, chunk);
  LACT_CHECK(begin >= 0, "[schedule] the piece begins at {}, expected 0 or more", begin);
  Schedule schedule;
  const int64_t end = begin + tokens;
  while (begin < end) {
    const int64_t chunk_begin = begin / chunk * chunk;
    const int64_t chunk_end = chunk_begin + chunk;
    schedule.push_back({Operation::apply, {begin, std::min(chunk_end, end)}});
    if (chunk_end <= end) schedule.push_back({Operation::update, {chunk_begin, chunk_end}});
    begin = chunk_end;
  }
  return schedule;
}

Schedule packed_schedule(const std::vector<int64_t>& document_lengths, int64_t chunk) {
  Schedule schedule;
  int64_t begin = 0;
  for (const int64_t length : document_lengths) {
    if (begin > 0) schedule.push_back({Operation::restart, {begin, begin}});
    for (const auto& [operation, tokens] : shifted_schedule(length, chunk)) {
      schedule.push_back({operation, {begin + tokens.begin, begin + tokens.end}});
    }
    begin += length;
  }
  return schedule;
}

at::Tensor schedule_mask(const Schedule& schedule, int64_t tokens) {
  check_schedule(schedule, {0, tokens}, {0, tokens});
  at::Tensor mask = at::zeros({tokens, tokens}, at::kBool);
  at::Tensor written = at::zeros({tokens}, at::kBool);
  for (const auto& [operation, range] : schedule) {
    const auto update = [&, range = range] { written.slice(0, range.begin, range.end).fill_(true); };
    if (operation == Operation::restart) written.fill_(false);
    if (operation == Operation::update || operation == Operation::update_then_apply) update();
    if (applies(operation))
      mask.slice(0, range.begin, range.end).copy_(written.expand({range.size(), tokens}));
    if (operation == Operation::apply_then_update) update();
  }
  return mask;
}

}  // namespace lact::ttt
