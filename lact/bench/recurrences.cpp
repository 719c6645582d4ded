// The linear recurrences GLA, DeltaNet and Mamba-2 against chunkwise PyTorch, forward and backward.
#include "lact/bench/areas.h"
#include "lact/bench/recurrence_problem.h"

namespace lact::bench {

namespace {

std::vector<RecurrenceShape> recurrence_shapes(bool quick) {
  std::vector<RecurrenceShape> shapes;
  for (const char* rule : {"gla", "delta_rule", "ssd"}) {
    if (quick) {
      shapes.push_back({rule, 2, 256, 24});
    } else {
      shapes.push_back({rule, 4, 8192, 128});
      shapes.push_back({rule, 8, 8192, 384});
    }
  }
  return shapes;
}

/// The forms of bench/peers/recurrences.py.
std::vector<const char*> forms_of(const std::string& rule) {
  if (rule == "gla") return {"factorised", "halved"};
  if (rule == "ssd") return {"64", "128"};
  return {"64", "32"};
}

void measure_recurrence(Session& session, const RecurrenceShape& shape, const std::string& precision,
                        bool backward) {
  const RecurrenceProblem problem(shape, type_of(precision));
  Trial trial;
  trial.row = {"recurrences", shape.name(), shape.rule, backward ? "forward+backward" : "forward", precision};
  trial.error = [&] {
    std::vector<at::Tensor> expected;
    with_paths(false, [&] { expected = problem.widened().run(backward); });
    return largest_error(problem.run(backward), expected);
  };
  trial.tolerance = precision == "bf16" ? 0.05 : 1e-4;
  trial.run = [&] { problem.run(backward); };
  for (const char* form : forms_of(shape.rule)) {
    trial.forms.push_back({precision,
                           {{"op", "recurrence"},
                            {"rule", shape.rule},
                            {"heads", shape.heads},
                            {"tokens", shape.tokens},
                            {"width", shape.width},
                            {"backward", backward},
                            {"form", form}}});
  }
  trial.work = recurrence_work(shape, backward);
  trial.limit = precision == "bf16" ? session.machine().limits.peak() : session.machine().limits.f32;
  trial.memory = backward;
  session.measure(trial);
}

}  // namespace

void bench_recurrences(Session& session) {
  for (const RecurrenceShape& shape : recurrence_shapes(session.quick())) {
    if (!session.wants(shape.name() + " " + shape.rule)) continue;
    for (const char* precision : {"bf16", "f32"}) {
      for (const bool backward : {false, true}) measure_recurrence(session, shape, precision, backward);
    }
  }
}

}  // namespace lact::bench
