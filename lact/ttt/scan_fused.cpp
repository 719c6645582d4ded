// The whole scan as one autograd function: chunk loop, momentum, orthogonalisation and norms, forward and
// back. Between the passes there is one copy of the weights per update; hidden layers and iterates are kept
// for the backward pass, or computed again (FastWeightRule::recompute), which makes the memory independent of
// the chunks' length.
#include <ATen/ATen.h>
#include <torch/autograd.h>
#include <torch/custom_class.h>

#include <optional>

#include "lact/base/error.h"
#include "lact/ttt/flat.h"
#include "lact/ttt/passes/update.h"
#include "lact/ttt/scan.h"

namespace lact::ttt::fused {

namespace {

using torch::autograd::variable_list;

/// What is done with one version of the weights: tokens are read, then tokens are written, or one of the two.
/// With what the backward pass needs. Ranges count from the first query or key. A chunk that takes several
/// steps is so many of these.
struct ChunkStep {
  Range read = {}, written = {};
  size_t repeat = 0;  ///< which of the chunk's steps a write is
  size_t version = 0;
  KeptChunk kept = {};
  at::Tensor kept_prediction = {};
  UpdateTape update = {};  ///< of a write
};

/// Everything that is not a tensor of the graph.
struct Tape : torch::CustomClassHolder {
  UpdateRule rule;
  size_t matrices = 0;
  UpdatePrecision precision;
  std::unique_ptr<FastWeightPasses> passes;
  std::vector<ChunkStep> steps;
  std::vector<PerMatrix> versions;
  bool residual = false;              ///< the negative gradient is v - f(k)
  std::vector<at::Tensor> residuals;  ///< of the tokens, one for each of a chunk's steps
  PerMatrix anchor, importance;       ///< before the scan, then after it
  bool needs_gradient = false;
  bool keep = false;
};

/// The tensors of a scan in the order in which autograd sees them.
struct Tensors {
  at::Tensor q, k, v, beta;
  Matrices rates;
  Memory memory;

  variable_list list() const {
    variable_list all = {q, k, v};
    for (const auto* group :
         {&rates, &memory.weights, &memory.initial_norms, &memory.momentum, &memory.accumulated}) {
      all.insert(all.end(), group->begin(), group->end());
    }
    if (beta.defined()) all.push_back(beta);
    return all;
  }

  static Tensors from(const variable_list& all, const Tape& tape) {
    size_t next = 3;
    const auto take = [&](bool present) {
      Matrices group;
      for (size_t i = 0; present && i < tape.matrices; ++i) group.push_back(all[next++]);
      return group;
    };
    Tensors tensors;
    tensors.q = all[0], tensors.k = all[1], tensors.v = all[2];
    tensors.rates = take(true);
    tensors.memory.weights = take(true);
    tensors.memory.initial_norms = take(true);
    tensors.memory.momentum = take(tape.rule.momentum);
    tensors.memory.accumulated = take(tape.rule.norm_placement == NormPlacement::pre);
    if (tape.rule.momentum) tensors.beta = all[next];
    return tensors;
  }
};

/// Tokens [B, H, T, D] laid out as [B, T, H, D], as the layer goes on with them; zeros where no step writes.
at::Tensor token_room(const at::Tensor& like, int64_t width, const Tape& tape, Range ChunkStep::*tokens) {
  int64_t covered = 0;
  for (const auto& chunk : tape.steps) covered += chunk.repeat == 0 ? (chunk.*tokens).size() : 0;
  const std::vector<int64_t> sizes = {like.size(0), like.size(2), like.size(1), width};
  const auto options = like.options();
  return (covered < like.size(2) ? at::zeros(sizes, options) : at::empty(sizes, options)).transpose(1, 2);
}

Range shifted(Range tokens, int64_t first) { return {tokens.begin - first, tokens.end - first}; }

std::vector<ChunkStep> steps_of(const Schedule& schedule, const ScanInputs& inputs, int64_t repeats) {
  std::vector<ChunkStep> steps;
  for (const auto& [operation, tokens] : schedule) {
    const Range read = shifted(tokens, inputs.first_query), written = shifted(tokens, inputs.first_key);
    const bool read_first = operation == Operation::apply_then_update;
    for (size_t i = 0; updates(operation) && i < size_t(repeats); ++i) {
      steps.push_back({.read = i == 0 && read_first ? read : Range(), .written = written, .repeat = i});
    }
    if (applies(operation) && !read_first) steps.push_back({.read = read});
  }
  return steps;
}

at::Tensor mean_over(const at::Tensor& beta, Range tokens) {
  return flat(beta.narrow(2, tokens.begin, tokens.size())).mean(1).view({-1});
}

/// v - f(k) for the chunk's tokens, in a tensor like v.
at::Tensor residual_of(const Tensors& in, Tape& tape, ChunkStep& chunk) {
  const size_t place = tape.needs_gradient ? chunk.repeat : 0;
  if (tape.residuals.size() == place) {
    tape.residuals.push_back(token_room(in.v, in.v.size(3), tape, &ChunkStep::written));
  }
  const at::Tensor& residual = tape.residuals[place];
  const ReadChunk predicted = {HeadTokens(in.k), HeadTokens(residual), chunk.written};
  chunk.kept_prediction = tape.passes->forward(&predicted, nullptr, {}, tape.keep).read;
  const auto own = [&](const at::Tensor& x) {
    return x.narrow(2, chunk.written.begin, chunk.written.size());
  };
  own(residual).neg_().add_(own(in.v));
  return residual;
}

/// Runs the steps; returns the output and leaves the memory as it is after the last one.
at::Tensor run_forward(const Tensors& in, Tape& tape, FlatMemory& memory) {
  const at::Tensor out = token_room(in.q, in.v.size(3), tape, &ChunkStep::read);
  ReadChunk read = {HeadTokens(in.q), HeadTokens(out), {}};
  WrittenChunk written = {HeadTokens(in.k), HeadTokens(in.v), flat_rows(in.rates), {}};
  size_t version = 0, loaded = 1;
  tape.versions = {memory.weights};
  for (auto& chunk : tape.steps) {
    if (loaded != version) tape.passes->load(memory.weights), loaded = version;
    chunk.version = version;
    read.tokens = chunk.read, written.tokens = chunk.written;
    PerMatrix direction;
    if (!chunk.written.empty()) {
      for (const auto& weight : memory.weights) direction.push_back(at::zeros_like(weight));
      if (tape.residual) written.v = HeadTokens(residual_of(in, tape, chunk));
    }
    chunk.kept = tape.passes->forward(chunk.read.empty() ? nullptr : &read,
                                      chunk.written.empty() ? nullptr : &written, direction, tape.keep);
    if (chunk.written.empty()) continue;
    const at::Tensor decay = in.beta.defined() ? mean_over(in.beta, chunk.written) : at::Tensor();
    UpdateTape update = step(memory, tape.rule, direction, decay, tape.precision);
    ++version;
    if (!tape.needs_gradient) continue;
    chunk.update = std::move(update);
    tape.versions.push_back(memory.weights);
  }
  return out;
}

void fill_missing(PerMatrix& gradients, const PerMatrix& like) {
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) gradients[i] = at::zeros_like(like[i]);
  }
}

bool any_defined(const PerMatrix& gradients) {
  return std::any_of(gradients.begin(), gradients.end(), [](const at::Tensor& x) { return x.defined(); });
}

/// Gradients of the tokens, written chunk by chunk.
struct TokenGradients {
  at::Tensor q, k, v, beta;
  Matrices rates;  ///< [heads, T]
};

/// Where tokens have gradients from several sides (a chunk's steps, its prediction), those of one step, to be
/// added in float32.
struct StepGradients {
  at::Tensor k, v, predicted_k;
  Matrices rates;

  StepGradients(const Tensors& in, const TokenGradients& tokens) {
    const auto room = [](const at::Tensor& like) {
      return at::empty(like.sizes(), like.options().dtype(at::kFloat));
    };
    k = room(in.k), v = room(in.v), predicted_k = room(in.k);
    for (const auto& rate : tokens.rates) rates.push_back(at::empty_like(rate));
  }

  void add_to(const TokenGradients& tokens, Range written) const {
    const auto add = [&](const at::Tensor& sum, const at::Tensor& part, int64_t dim) {
      sum.narrow(dim, written.begin, written.size()).add_(part.narrow(dim, written.begin, written.size()));
    };
    add(tokens.k, k, 2), add(tokens.v, v, 2);
    for (size_t i = 0; i < rates.size(); ++i) add(tokens.rates[i], rates[i], 1);
  }
};

bool has_several_sides(const Tape& tape) { return tape.residual || tape.rule.steps > 1; }

/// From the gradients of v - f(k), which are those of v: through the prediction to k and the weights.
void predict_backward(const Tensors& in, Tape& tape, const ChunkStep& chunk, const PerMatrix& weights,
                      const StepGradients& step) {
  const auto own = [&](const at::Tensor& x) {
    return x.narrow(2, chunk.written.begin, chunk.written.size());
  };
  // In the tokens' type, as the passes take it.
  const at::Tensor prediction = at::empty(step.v.sizes(), in.v.options());
  own(prediction).copy_(own(step.v)).neg_();
  tape.passes->apply_backward({HeadTokens(in.k), {}, chunk.written}, chunk.kept_prediction,
                              {HeadTokens(step.predicted_k), HeadTokens(prediction), chunk.written}, weights);
  own(step.k).add_(own(step.predicted_k));
}

void run_backward(const Tensors& in, Tape& tape, const at::Tensor& out_gradient, MemoryGradients& memory,
                  TokenGradients& tokens) {
  ReadChunk read = {HeadTokens(in.q), {}, {}};
  ReadChunk read_gradients = {
      HeadTokens(tokens.q), out_gradient.defined() ? HeadTokens(out_gradient) : HeadTokens(), {}};
  WrittenChunk written = {HeadTokens(in.k), HeadTokens(in.v), flat_rows(in.rates), {}};
  std::optional<StepGradients> several;
  if (has_several_sides(tape)) several.emplace(in, tokens);
  WrittenChunk written_gradients =
      several ? WrittenChunk{HeadTokens(several->k), HeadTokens(several->v), several->rates, {}}
              : WrittenChunk{HeadTokens(tokens.k), HeadTokens(tokens.v), tokens.rates, {}};
  size_t loaded = tape.versions.size();
  const auto load = [&](size_t version) {
    if (loaded != version) tape.passes->load(tape.versions[version]), loaded = version;
    fill_missing(memory.weights, tape.versions[version]);
  };
  for (auto chunk = tape.steps.rbegin(); chunk != tape.steps.rend(); ++chunk) {
    if (!chunk->written.empty()) {
      const auto [direction, decay] = step_backward(memory, tape.rule, chunk->update, tape.precision);
      if (direction.empty()) {
        // Nothing was read after this write.
        if (!several) {
          tokens.k.narrow(2, chunk->written.begin, chunk->written.size()).zero_();
          tokens.v.narrow(2, chunk->written.begin, chunk->written.size()).zero_();
        }
      } else {
        load(chunk->version);
        written.tokens = written_gradients.tokens = chunk->written;
        if (tape.residual) written.v = HeadTokens(tape.residuals[chunk->repeat]);
        tape.passes->descend_backward(written, direction, chunk->kept.written, written_gradients,
                                      memory.weights);
        if (tape.residual) predict_backward(in, tape, *chunk, memory.weights, *several);
        if (several) several->add_to(tokens, chunk->written);
      }
      if (decay.defined()) {
        tokens.beta.view({-1, in.beta.size(2)})
            .narrow(1, chunk->written.begin, chunk->written.size())
            .add_((decay / double(chunk->written.size())).unsqueeze(1).expand({-1, chunk->written.size()}));
      }
    }
    if (!chunk->read.empty() && out_gradient.defined()) {
      load(chunk->version);
      read.tokens = read_gradients.tokens = chunk->read;
      tape.passes->apply_backward(read, chunk->kept.read, read_gradients, memory.weights);
    }
    chunk->kept = {};
    chunk->update = {};
  }
}

at::Tensor shaped(const at::Tensor& gradient, const at::Tensor& like) {
  return gradient.defined() ? gradient.reshape(like.sizes()).to(like.scalar_type()) : at::Tensor();
}

constexpr size_t kMostMatrices = 3;
constexpr size_t kMostTensors = 4 + 5 * kMostMatrices;

struct FusedScan : torch::autograd::Function<FusedScan> {
  /// Autograd looks for tensors among the arguments, not inside of a list.
  static variable_list apply_all(const c10::intrusive_ptr<Tape>& tape, variable_list inputs) {
    inputs.resize(kMostTensors, at::empty({0}));
    return [&]<size_t... Index>(std::index_sequence<Index...>) { return apply(tape, inputs[Index]...); }
    (std::make_index_sequence<kMostTensors>());
  }

  template <class... Inputs>
  static variable_list forward(torch::autograd::AutogradContext* context,
                               const c10::intrusive_ptr<Tape>& tape, const Inputs&... all) {
    const variable_list inputs = {all...};
    context->set_materialize_grads(false);
    if (tape->needs_gradient) {
      context->save_for_backward(inputs);
      context->saved_data["tape"] = c10::IValue::make_capsule(tape);
    }
    return run(inputs, *tape);
  }

  /// The output, then the memory after the last step: weights, momentum, accumulated.
  static variable_list run(const variable_list& inputs, Tape& tape) {
    at::NoGradGuard no_grad;
    const Tensors in = Tensors::from(inputs, tape);
    FlatMemory memory = flat(in.memory);
    memory.anchor = tape.anchor, memory.importance = tape.importance;
    variable_list outputs = {run_forward(in, tape, memory)};
    const auto give = [&](const PerMatrix& matrices, const Matrices& like) {
      for (size_t i = 0; i < matrices.size(); ++i) {
        const at::Tensor result = matrices[i].view(like[i].sizes());
        // An input that is handed on unchanged must not be an output of the function.
        outputs.push_back(result.is_alias_of(like[i]) ? result.clone() : result);
      }
    };
    give(memory.weights, in.memory.weights);
    give(memory.momentum, in.memory.momentum);
    give(memory.accumulated, in.memory.accumulated);
    tape.anchor = memory.anchor, tape.importance = memory.importance;
    return outputs;
  }

  static variable_list backward(torch::autograd::AutogradContext* context, variable_list gradients) {
    const auto tape = c10::static_intrusive_pointer_cast<Tape>(context->saved_data["tape"].toCapsule());
    LACT_CHECK(!tape->versions.empty(), "[ttt] the backward pass of a fused scan can run only once");
    at::NoGradGuard no_grad;
    const Tensors in = Tensors::from(context->get_saved_variables(), *tape);

    MemoryGradients memory;
    size_t next = 1;
    const auto take = [&](const Matrices& like) {
      PerMatrix group;
      for (size_t i = 0; i < like.size(); ++i, ++next) {
        group.push_back(gradients[next].defined() ? flat(gradients[next]).clone() : at::Tensor());
      }
      if (any_defined(group)) fill_missing(group, flat(like));
      return group;
    };
    memory.weights = take(in.memory.weights);
    memory.momentum = take(in.memory.momentum);
    memory.accumulated = take(in.memory.accumulated);
    memory.initial_norms.resize(tape->matrices);

    TokenGradients tokens;
    tokens.q = gradients[0].defined() ? token_room(in.q, in.q.size(3), *tape, &ChunkStep::read)
                                      : at::zeros_like(in.q);
    const auto written_room = [&](const at::Tensor& like) {
      if (has_several_sides(*tape)) return at::zeros(like.sizes(), like.options().dtype(at::kFloat));
      return token_room(like, like.size(3), *tape, &ChunkStep::written);
    };
    tokens.k = written_room(in.k);
    tokens.v = written_room(in.v);
    for (const auto& rate : flat_rows(in.rates)) tokens.rates.push_back(at::zeros_like(rate));
    if (in.beta.defined()) tokens.beta = at::zeros(in.beta.sizes(), in.beta.options().dtype(at::kFloat));
    run_backward(in, *tape, gradients[0], memory, tokens);
    tape->versions.clear();
    tape->residuals.clear();

    Tensors result;
    result.q = tokens.q, result.k = shaped(tokens.k, in.k), result.v = shaped(tokens.v, in.v);
    const auto shape_all = [&](const PerMatrix& from, const Matrices& like) {
      Matrices shaped_all;
      for (size_t i = 0; i < like.size(); ++i) shaped_all.push_back(shaped(from[i], like[i]));
      return shaped_all;
    };
    result.rates = shape_all(tokens.rates, in.rates);
    result.memory.weights = shape_all(memory.weights, in.memory.weights);
    result.memory.initial_norms = shape_all(memory.initial_norms, in.memory.initial_norms);
    result.memory.momentum = shape_all(memory.momentum, in.memory.momentum);
    result.memory.accumulated = shape_all(memory.accumulated, in.memory.accumulated);
    variable_list list = result.list();
    if (in.beta.defined()) list.push_back(shaped(tokens.beta, in.beta));
    list.resize(kMostTensors);
    list.insert(list.begin(), at::Tensor());  // the tape's place
    return list;
  }
};

/// Below this many tokens packing the weights costs more than the products.
constexpr int64_t kFewest = 32;

}  // namespace

bool fits(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs,
          const Memory& memory) {
  const auto type = inputs.k.scalar_type();
  const bool tokens_fit = inputs.k.is_cpu() && (type == at::kFloat || type == at::kBFloat16) &&
                          inputs.q.scalar_type() == type && inputs.v.scalar_type() == type &&
                          inputs.k.dim() == 4;
  const bool loss_fits = rule.loss.negative_gradient_is_value() || rule.loss.negative_gradient_is_residual();
  if (!tokens_fit || !loss_fits || restarts(schedule)) return false;
  if (memory.weights.size() > kMostMatrices) return false;
  for (const auto& weight : memory.weights) {
    if (weight.scalar_type() != at::kFloat) return false;
  }
  for (const auto& rate : inputs.rates) {
    if (!rate.defined() || rate.size(-1) != 1) return false;
  }
  // The published rounding of every operation is the reference's.
  const bool rounds =
      rule.update.muon && rule.update.newton_schulz.iteration_type == ops::IterationType::bfloat16;
  if (rounds && type == at::kFloat) return false;
  int64_t tokens = 0;
  for (const auto& step : schedule) tokens += step.tokens.size();
  return tokens >= kFewest && rule.network.passes({1, 1, 1, 1}, false) != nullptr;
}

at::Tensor scan(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs,
                Memory& memory) {
  auto tape = c10::make_intrusive<Tape>();
  tape->rule = rule.update;
  tape->matrices = memory.weights.size();
  tape->steps = steps_of(schedule, inputs, rule.update.steps);
  tape->residual = rule.loss.negative_gradient_is_residual();
  tape->anchor = flat(memory.anchor), tape->importance = flat(memory.importance);
  const bool bf16 = inputs.k.scalar_type() == at::kBFloat16;
  // The first matrix takes tokens of width `in` to the hidden layer, or to the output where there is none.
  const int64_t heads = inputs.k.size(0) * inputs.k.size(1);
  tape->passes =
      rule.network.passes({heads, inputs.k.size(3), memory.weights.front().size(2), inputs.v.size(3)}, bf16);

  Tensors in = {inputs.q, inputs.k, inputs.v, inputs.beta, inputs.rates, memory};
  in.memory.anchor = in.memory.importance = {};
  const variable_list list = in.list();
  tape->needs_gradient =
      at::GradMode::is_enabled() &&
      std::any_of(list.begin(), list.end(), [](const at::Tensor& x) { return x.requires_grad(); });
  tape->keep = tape->needs_gradient && !rule.recompute;
  tape->precision = {bf16, tape->keep};

  const variable_list out =
      tape->needs_gradient ? FusedScan::apply_all(tape, list) : FusedScan::run(list, *tape);
  size_t next = 1;
  for (auto* group : {&memory.weights, &memory.momentum, &memory.accumulated}) {
    for (auto& matrix : *group) matrix = out[next++];
  }
  for (size_t i = 0; i < memory.anchor.size(); ++i) {
    memory.anchor[i] = tape->anchor[i].view(memory.anchor[i].sizes());
    memory.importance[i] = tape->importance[i].view(memory.importance[i].sizes());
  }
  return out[0];
}

}  // namespace lact::ttt::fused
