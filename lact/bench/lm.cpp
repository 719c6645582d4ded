// The language model: reading a prompt (prefill) and a step of training.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include "lact/bench/areas.h"
#include "lact/bench/lm_problem.h"
#include "lact/bench/ttt_problem.h"
#include "lact/bench/work.h"
#include "lact/models/lm/stream.h"

namespace lact::bench {

namespace {

/// What is measured of one model.
struct Plan {
  NamedConfig model;
  std::vector<int64_t> prefill, train;  ///< tokens
};

std::vector<Plan> plans(bool quick) {
  if (quick) return {{quick_lm(), {64, 96}, {64}}};
  return {{small_lm(), {4096, 8192, 32768}, {4096, 8192}}, {tiny_lm(), {}, {4096}}};
}

/// PyTorch reads no prompt longer than this: minutes for nothing new.
constexpr int64_t kLongestPeerPrompt = 8192;

std::string shape_name(const Plan& plan, int64_t tokens) {
  return fmt::format("{} {}", plan.model.name, tokens);
}

std::vector<PeerForm> peer_forms(const Plan& plan, const char* op, int64_t tokens) {
  const options::Json request = {{"op", op}, {"sizes", peer_sizes(plan.model.config)}, {"tokens", tokens}};
  return {{"bf16", request}, {"f32", request}};
}

double limit(const Session& session, const std::string& precision) {
  return precision == "bf16" ? session.machine().limits.peak() : session.machine().limits.f32;
}

using ErrorOn = std::function<double(const at::Tensor& ids, at::ScalarType type, bool fused)>;

/// In float32 on all tokens, and in bfloat16 on the first two chunks: one is written, and read from.
GrowingRounding lm_rounding(const models::LmConfig& config, const at::Tensor& ids, int64_t tokens,
                            const ErrorOn& error) {
  GrowingRounding rounding;
  rounding.reference_error = [=] { return error(ids, at::kBFloat16, false); };
  rounding.checks.push_back(
      {"in float32", [=] { return error(ids, at::kFloat, true); }, lm_tolerance(at::kFloat)});
  const models::FastWeightCost memory = models::cost(config).memory();
  if (gives_full_rank(config.chunk_size, std::max(memory.head_dim, memory.hidden_dim))) {
    const int64_t targets = ids.size(1) - tokens;  // of training, the token after the last
    const at::Tensor two = ids.narrow(1, 0, std::min(tokens, 2 * config.chunk_size) + targets);
    rounding.checks.push_back(
        {"of two chunks", [=] { return error(two, at::kBFloat16, true); }, lm_tolerance(at::kBFloat16)});
  }
  return rounding;
}

/// Returns seconds per token.
std::optional<double> measure_prefill(Session& session, const Plan& plan,
                                      const std::shared_ptr<models::LanguageModel>& model,
                                      const std::string& precision, int64_t tokens) {
  const at::Tensor ids = random_ids(plan.model.config, tokens);
  Trial trial;
  trial.row = {"lm", shape_name(plan, tokens), "", "prefill", precision};
  trial.error = [&] { return logits_error(model, model, ids, 0, type_of(precision)); };
  trial.tolerance = lm_tolerance(type_of(precision));
  if (precision == "bf16") {
    const auto error = [model](const at::Tensor& read, at::ScalarType type, bool fused) {
      return logits_error(model, model, read, 0, type, fused);
    };
    trial.rounding = lm_rounding(plan.model.config, ids, tokens, error);
  }
  trial.run = [&] {
    model->set_compute_type(type_of(precision));
    models::LmStream stream(model);
    stream.read({ids.data_ptr<int64_t>(), size_t(tokens)});
    stream.next_logits();
  };
  if (tokens <= kLongestPeerPrompt) trial.forms = peer_forms(plan, "prefill", tokens);
  auto work = lm_work(plan.model.config, tokens);
  work["head and loss"] /= double(tokens);  // the last token alone gets logits
  trial.work = total(work);
  trial.limit = limit(session, precision);
  const Result row = session.measure(trial);
  return row.seconds ? std::optional(*row.seconds / double(tokens)) : std::nullopt;
}

void measure_train(Session& session, const Plan& plan, const std::shared_ptr<models::LanguageModel>& model,
                   const TrainStep& step, const std::string& precision, int64_t tokens) {
  const at::Tensor ids = random_ids(plan.model.config, tokens + 1);
  Trial trial;
  trial.row = {"lm", shape_name(plan, tokens), "", "training step", precision};
  trial.error = [&] { return gradient_error(*model, ids, type_of(precision)); };
  trial.tolerance = lm_tolerance(type_of(precision));
  if (precision == "bf16") {
    const auto error = [model](const at::Tensor& read, at::ScalarType type, bool fused) {
      return gradient_error(*model, read, type, fused);
    };
    trial.rounding = lm_rounding(plan.model.config, ids, tokens, error);
  }
  trial.run = [&] {
    model->set_compute_type(type_of(precision));
    step(ids);
  };
  trial.forms = peer_forms(plan, "train", tokens);
  trial.work = 3 * total(lm_work(plan.model.config, tokens));
  trial.limit = limit(session, precision);
  trial.memory = true;
  const Result row = session.measure(trial);
  if (row.seconds) session.note(fmt::format("{:.0f} tokens/s", double(tokens) / *row.seconds));
}

}  // namespace

void bench_lm(Session& session, const MakeTrainStep& make_step) {
  for (const Plan& plan : plans(session.quick())) {
    const auto model = make_model(plan.model.config);
    const TrainStep step = make_step(model);
    for (const char* precision : {"bf16", "f32"}) {
      std::optional<double> shortest;
      for (const int64_t tokens : plan.prefill) {
        if (!session.wants(shape_name(plan, tokens) + " prefill")) continue;
        const auto per_token = measure_prefill(session, plan, model, precision, tokens);
        if (per_token) session.note(fmt::format("{:.0f} tokens/s", 1 / *per_token));
        if (per_token && shortest) {
          session.note(
              fmt::format("{:.2f} times the time per token of {}", *per_token / *shortest, plan.prefill[0]));
        }
        if (tokens == plan.prefill[0]) shortest = per_token;
      }
      for (const int64_t tokens : plan.train) {
        if (!session.wants(shape_name(plan, tokens) + " train")) continue;
        measure_train(session, plan, model, step, precision, tokens);
      }
    }
  }
}

}  // namespace lact::bench
