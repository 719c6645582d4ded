// The large-chunk test-time-training core (paper algorithm 1 between the projections): prepares q, k, v,
// rates and momentum, runs the scan, norms and scales what was read.
#pragma once

#include <optional>

#include "lact/mixers/head_output.h"
#include "lact/mixers/lact/initial_weights.h"
#include "lact/mixers/mixer.h"
#include "lact/mixers/sharding.h"
#include "lact/nn/linear.h"
#include "lact/nn/recompute.h"
#include "lact/ops/rope/rope.h"
#include "lact/ttt/collect.h"
#include "lact/ttt/scan.h"

namespace lact::ttt {

/// Things done to q and k before they meet the fast weights, in the order of the list.
enum class Preparation { silu, l2_norm, rope };
constexpr std::array<std::pair<Preparation, std::string_view>, 3> enum_names(Preparation) {
  return {{{Preparation::silu, "silu"}, {Preparation::l2_norm, "l2_norm"}, {Preparation::rope, "rope"}}};
}

/// Order of the rate projection's outputs: heads outermost (language model, video) or matrices outermost
/// (view synthesis).
enum class RateOrder { by_head, by_matrix };
constexpr std::array<std::pair<RateOrder, std::string_view>, 2> enum_names(RateOrder) {
  return {{{RateOrder::by_head, "by_head"}, {RateOrder::by_matrix, "by_matrix"}}};
}

using lact::OutputScale;

struct LactConfig {
  int64_t num_heads = 4;
  double hidden_multiple = 1;
  std::string network = "swiglu";
  std::string loss = "dot_product";
  UpdateRule update;
  InitialWeightsOptions initial_weights;

  std::vector<Preparation> prepare_qk = {Preparation::silu, Preparation::l2_norm};
  bool silu_v = true;
  double l2_epsilon = 1e-5;
  ops::RopeOptions rope;
  int64_t rope_heads = 0;

  double base_rate = 0.001;
  int64_t rate_channels = 1;
  bool rate_bias = true;
  RateOrder rate_order = RateOrder::by_head;

  bool output_norm = true;
  double output_norm_epsilon = 1e-5;
  OutputScale output_scale = OutputScale::none;
  bool zero_output_scale = false;
  double output_factor = 1;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("num_heads", num_heads, "fast-weight heads; fewer heads are wider and hold more");
    field("hidden_multiple", hidden_multiple, "hidden width of the fast-weight network / head width");
    field("network", network, "fast-weight network: a file of ttt/networks");
    field("loss", loss, "fast-weight loss: a file of ttt/losses");
    field("update", update, "how a chunk changes the fast weights");
    field("initial_weights", initial_weights, "the learned fast weights a sequence starts from");
    field("prepare_qk", prepare_qk, "steps for q and k, in order: silu, l2_norm, rope");
    field("silu_v", silu_v, "SiLU on the values");
    field("l2_epsilon", l2_epsilon, "added to the norm of q and k");
    field("rope", rope, "rotary embedding, if it is one of the steps");
    field("rope_heads", rope_heads,
          "heads that q and k are split into for the rotary embedding; 0 is num_heads");
    field("base_rate", base_rate, "learning rate of a token whose projection is zero");
    field("rate_channels", rate_channels, "rates per token and matrix: 1, or one per input channel");
    field("rate_bias", rate_bias, "bias of the rate projection");
    field("rate_order", rate_order, "outputs of the rate projection: by_head or by_matrix");
    field("output_norm", output_norm, "RMS-norm of each head's output");
    field("output_norm_epsilon", output_norm_epsilon, "epsilon of that norm");
    field("output_scale", output_scale, "none, per_head or per_token: a learned factor silu(Linear(x))");
    field("zero_output_scale", zero_output_scale,
          "that factor starts at zero, so that a pretrained model is unchanged");
    field("output_factor", output_factor, "a constant factor");
  }
  bool operator==(const LactConfig&) const = default;
};

/// The memory, and the tokens of an unfinished chunk: k, v, rates and beta from position `first` on.
struct LactState : State {
  Memory memory;
  at::Tensor k, v, beta;
  Matrices rates;
  int64_t first = 0;
  Collected collected;  ///< of a write that is under way; not part of what is visited

  void visit(StateVisitor& visitor, const std::string& prefix) override;
  std::unique_ptr<State> clone() const override { return std::make_unique<LactState>(*this); }
  int64_t forgettable() const override { return k.size(2); }
  void forget_last(int64_t tokens) override;
};

class Lact : public SetCore, public nn::Recomputes, public SharesHeads {
 public:
  Lact(int64_t model_dim, const LactConfig& config);

  std::unique_ptr<State> initial_state(int64_t batch) override;
  at::Tensor mix(const Projected& in, const SequenceLayout& layout, State& state) override;
  bool takes_documents() const override { return true; }

  void collect(const Projected& in, const SequenceLayout& layout, State& state) override;
  void write_collected(State& state, const parallel::Group& ranks = {}) override;
  bool sees_itself() const override { return false; }
  at::Tensor read(const Projected& in, const SequenceLayout& layout, const State& state) override;

  void set_recompute(nn::Recompute what) override {
    nn::Recomputes::set_recompute(what);
    rule_.recompute = what == nn::Recompute::memory;
  }

  const LactConfig& config() const { return config_; }
  int64_t shared_heads() const override { return config_.num_heads; }

 private:
  /// Keys, values, rates and momentum of the tokens; no queries.
  ScanInputs written(const Projected& in, const SequenceLayout& layout,
                     nn::ActivationCheckpointing& checkpointing) const;
  /// [B, T, M] -> [B, H, T, D]
  at::Tensor prepare(const at::Tensor& qk, const SequenceLayout& layout,
                     nn::ActivationCheckpointing& checkpointing) const;
  nn::ActivationCheckpointing::Function preparation(const SequenceLayout& layout, at::Device device) const;
  /// [B, H, T, rate_channels] for each matrix that is written
  Matrices rates(const at::Tensor& x) const;

  LactConfig config_;
  int64_t head_dim_;
  FastWeightRule rule_;
  std::vector<MatrixShape> shapes_;
  std::vector<bool> written_;  ///< for each matrix
  std::shared_ptr<InitialWeights> initial_weights_;
  std::shared_ptr<nn::Linear> rate_, momentum_;
  std::optional<HeadOutput> output_;
};

}  // namespace lact::ttt
