// The test-time-training operation: forward, and forward + backward with everything kept or recomputed.
#include "lact/bench/areas.h"
#include "lact/bench/work.h"

namespace lact::bench {

namespace {

std::vector<TttShape> ttt_shapes(bool quick) {
  if (quick) {
    return {
        {2, 96, 96, 32, 32, false, false}, {1, 64, 64, 16, 32, false, true}, {2, 96, 32, 32, 32, true, true}};
  }
  return {{1, 4096, 4096, 768, 1536, false, true},
          {4, 2048, 2048, 256, 256, false, true},
          {4, 2048, 2048, 256, 256, false, false},
          {1, 16384, 16384, 512, 512, false, true},
          {16, 32768, 2048, 384, 384, true, true}};
}

options::Json request(const TttShape& shape, bool backward, const char* form) {
  return {{"op", "ttt"},          {"heads", shape.heads},       {"tokens", shape.tokens},
          {"chunk", shape.chunk}, {"width", shape.width},       {"hidden", shape.hidden},
          {"muon", shape.muon},   {"momentum", shape.momentum}, {"backward", backward},
          {"form", form}};
}

void measure_ttt(Session& session, const TttShape& shape, const TttProblem& problem, TttCheck& check,
                 const std::string& precision, bool backward, bool recompute) {
  Trial trial;
  trial.row = {"ttt", shape.name(), shape.rule(),
               backward ? (recompute ? "forward+backward, recompute" : "forward+backward") : "forward",
               precision};
  trial.row.sizes = shape.sizes();
  trial.error = [&] { return check.error(backward, recompute); };
  trial.tolerance = ttt_tolerance(shape, type_of(precision));
  trial.rounding = ttt_rounding(check, shape, type_of(precision), backward, recompute);
  trial.run = [&] { backward ? void(problem.forward_backward(recompute)) : void(problem.forward()); };
  for (const char* theirs : {"bf16", "f32"}) {
    for (const char* form : {"official", "token_major"}) {
      trial.forms.push_back({theirs, request(shape, backward, form)});
    }
  }
  trial.work = ttt_work(shape, backward ? Pass::forward_backward : Pass::forward, recompute);
  trial.limit = precision == "bf16" ? session.machine().limits.peak() : session.machine().limits.f32;
  trial.memory = backward;
  session.measure(trial);
}

}  // namespace

void bench_ttt(Session& session) {
  for (const TttShape& shape : ttt_shapes(session.quick())) {
    if (!session.wants(shape.name() + " " + shape.rule())) continue;
    for (const char* precision : {"bf16", "f32"}) {
      const TttProblem problem(shape, type_of(precision));
      TttCheck check(problem, shape);
      measure_ttt(session, shape, problem, check, precision, false, false);
      measure_ttt(session, shape, problem, check, precision, true, false);
      measure_ttt(session, shape, problem, check, precision, true, true);
    }
  }
}

}  // namespace lact::bench
