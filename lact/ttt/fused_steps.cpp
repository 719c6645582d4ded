#include "lact/ttt/fused_steps.h"

#include <ATen/ATen.h>

#include <optional>

#include "lact/ttt/add_up.h"
#include "lact/ttt/flat.h"

namespace lact::ttt::fused {

namespace {

Range shifted(Range tokens, int64_t first) { return {tokens.begin - first, tokens.end - first}; }

at::Tensor sum_over(const at::Tensor& beta, Range tokens) {
  return flat(beta.narrow(2, tokens.begin, tokens.size())).sum(1).view({-1});
}

/// The sum of a chunk's direction over the ranks' tokens, and its mean momentum, on their way.
class DirectionSum {
 public:
  DirectionSum(PerMatrix& direction, const Tensors& in, const Tape& tape, Range tokens)
      : direction_(direction), count_(double(tokens.size())) {
    if (in.beta.defined()) momentum_ = sum_over(in.beta, tokens).to(at::kFloat);
    if (tape.context.alone()) return;
    all_ = packed(direction, momentum_, count_);
    wait_ = tape.context.begin_sum(all_, kSumOfDirections);
  }

  /// The mean momentum; `count` becomes the number of tokens of all ranks.
  at::Tensor arrive(double& count) {
    if (wait_) {
      wait_();
      count_ = unpack(all_, direction_, momentum_);
    }
    count = count_;
    return momentum_.defined() ? momentum_ / count : momentum_;
  }

 private:
  PerMatrix& direction_;
  at::Tensor momentum_, all_;
  double count_;
  parallel::Transport::Wait wait_;
};

/// v - f(k) for the chunk's tokens, in a tensor like v.
at::Tensor residual_of(const Tensors& in, Tape& tape, ChunkStep& chunk) {
  const size_t place = tape.needs_gradient ? chunk.repeat : 0;
  if (tape.residuals.size() == place) {
    tape.residuals.push_back(token_room(in.v, in.v.size(3), tape, &ChunkStep::written));
  }
  const at::Tensor& residual = tape.residuals[place];
  if (chunk.written.empty()) return residual;
  const ReadChunk predicted = {HeadTokens(in.k), HeadTokens(residual), chunk.written};
  chunk.kept_prediction = tape.passes->forward(&predicted, nullptr, {}, tape.keep).read;
  const auto own = [&](const at::Tensor& x) {
    return x.narrow(2, chunk.written.begin, chunk.written.size());
  };
  own(residual).neg_().add_(own(in.v));
  return residual;
}

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

}  // namespace

at::Tensor token_room(const at::Tensor& like, int64_t width, const Tape& tape, Range ChunkStep::*tokens) {
  int64_t covered = 0;
  for (const auto& chunk : tape.steps) covered += chunk.repeat == 0 ? (chunk.*tokens).size() : 0;
  const std::vector<int64_t> sizes = {like.size(0), like.size(2), like.size(1), width};
  const auto options = like.options();
  return (covered < like.size(2) ? at::zeros(sizes, options) : at::empty(sizes, options)).transpose(1, 2);
}

std::vector<ChunkStep> steps_of(const Schedule& schedule, const ScanInputs& inputs, int64_t repeats) {
  std::vector<ChunkStep> steps;
  for (const auto& [operation, tokens] : schedule) {
    const Range read = shifted(tokens, inputs.first_query), written = shifted(tokens, inputs.first_key);
    const bool read_first = operation == Operation::apply_then_update;
    for (size_t i = 0; updates(operation) && i < size_t(repeats); ++i) {
      steps.push_back({.read = i == 0 && read_first ? read : Range(),
                       .written = written,
                       .writes = !written.empty() || !inputs.context.alone(),
                       .repeat = i});
    }
    if (applies(operation) && !read_first) steps.push_back({.read = read});
  }
  return steps;
}

void fill_missing(PerMatrix& gradients, const PerMatrix& like) {
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) gradients[i] = at::zeros_like(like[i]);
  }
}

bool has_several_sides(const Tape& tape) { return tape.residual || tape.rule.steps > 1; }

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
    if (chunk.writes) {
      for (const auto& weight : memory.weights) direction.push_back(at::zeros_like(weight));
      if (tape.residual) written.v = HeadTokens(residual_of(in, tape, chunk));
    }
    const ReadChunk* reads = chunk.read.empty() ? nullptr : &read;
    const WrittenChunk* writes = chunk.written.empty() ? nullptr : &written;
    // A rank reads while its directions travel to the others.
    const bool travels = chunk.writes && !tape.context.alone();
    if (travels) {
      if (writes != nullptr)
        chunk.kept.written = tape.passes->forward(nullptr, writes, direction, tape.keep).written;
    } else if (reads != nullptr || writes != nullptr) {
      chunk.kept = tape.passes->forward(reads, writes, direction, tape.keep);
    }
    if (!chunk.writes) continue;
    DirectionSum sum(direction, in, tape, chunk.written);
    if (travels && reads != nullptr)
      chunk.kept.read = tape.passes->forward(reads, nullptr, {}, tape.keep).read;
    const at::Tensor decay = sum.arrive(chunk.tokens);
    UpdateTape update = step(memory, tape.rule, direction, decay, tape.precision);
    ++version;
    if (!tape.needs_gradient) continue;
    chunk.update = std::move(update);
    tape.versions.push_back(memory.weights);
  }
  return out;
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
  const auto read_backward = [&](ChunkStep& chunk) {
    if (chunk.read.empty() || !out_gradient.defined()) return;
    load(chunk.version);
    read.tokens = read_gradients.tokens = chunk.read;
    tape.passes->apply_backward(read, chunk.kept.read, read_gradients, memory.weights);
  };
  for (auto chunk = tape.steps.rbegin(); chunk != tape.steps.rend(); ++chunk) {
    const bool travels = chunk->writes && !tape.context.alone();
    if (chunk->writes) {
      if (!tape.context.alone()) fill_missing(memory.weights, chunk->update.weights);
      auto [direction, decay] = step_backward(memory, tape.rule, chunk->update, tape.precision);
      if (travels) {
        // Each rank has the gradient of what its own tokens read.
        const at::Tensor all = packed(direction, decay, 0);
        const auto wait = tape.context.begin_sum(all, kSumOfGradients);
        read_backward(*chunk);
        wait();
        unpack(all, direction, decay);
      }
      if (direction.empty()) {
        // Nothing was read after this write.
        if (!several) {
          tokens.k.narrow(2, chunk->written.begin, chunk->written.size()).zero_();
          tokens.v.narrow(2, chunk->written.begin, chunk->written.size()).zero_();
        }
      } else if (!chunk->written.empty()) {
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
            .add_((decay / chunk->tokens).unsqueeze(1).expand({-1, chunk->written.size()}));
      }
    }
    if (!travels) read_backward(*chunk);
    chunk->kept = {};
    chunk->update = {};
  }
}

}  // namespace lact::ttt::fused
