#include "lact/mixers/projection.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/base/profile.h"
#include "lact/mixers/sharding.h"

namespace lact {

namespace {

/// Of a convolution's tail, beyond what the next token sees: of a sequence that goes on.
int64_t more_rows(const SequenceLayout& layout) {
  return layout.keeps_nothing() ? 0 : ConvolutionTail::kMore;
}

}  // namespace

Projection::Projection(int64_t model_dim, const ProjectionConfig& config) {
  qkv_ = register_module("qkv", std::make_shared<nn::Linear>(model_dim, 3 * model_dim, config.qkv_bias));
  output_ = register_module("output", std::make_shared<nn::Linear>(model_dim, model_dim, config.output_bias));
  if (config.qk_norm) {
    const nn::NormOptions options = {nn::NormKind::rms, config.qk_norm_epsilon};
    q_norm_ = register_module("q_norm", std::make_shared<nn::Norm>(model_dim, options));
    k_norm_ = register_module("k_norm", std::make_shared<nn::Norm>(model_dim, options));
  }
  if (config.conv_width > 0) {
    // Begins as the token itself.
    at::Tensor weights = at::zeros({config.conv_width, 3 * model_dim});
    weights[config.conv_width - 1].fill_(1);
    conv_ = register_parameter("conv", weights);
  }
}

ConvolutionTail Projection::initial_tail(int64_t batch) const {
  if (!conv_.defined()) return {};
  const int64_t seen = conv_.size(0) - 1;
  return {at::zeros({batch, seen, conv_.size(1)}, conv_.options()).detach(), seen};
}

Projected Projection::in(const at::Tensor& x) const {
  const profile::Scope part("projections");
  LACT_ASSERT(!conv_.defined());
  LACT_CHECK(x.dim() == 3, "[mixer] the input has shape {}, expected [B, T, M]", x.sizes().vec());
  return parts(x, qkv_->forward(x));
}

Projected Projection::in(const at::Tensor& x, std::span<const SequencePiece> pieces) const {
  if (!conv_.defined()) return in(x);
  const profile::Scope part("projections");
  const at::Tensor joined = qkv_->forward(x);
  const auto of_pieces = cut(joined, pieces);
  return parts(x, by_piece(pieces, joined, [&](size_t i) {
                 return convolved(of_pieces[i], dynamic_cast<WithTail&>(*pieces[i].state).tail,
                                  *pieces[i].layout);
               }));
}

Projected Projection::parts(const at::Tensor& x, const at::Tensor& joined) const {
  const auto qkv = joined.chunk(3, -1);
  if (!q_norm_) return {x, qkv[0], qkv[1], qkv[2]};
  return {x, q_norm_->forward(qkv[0]), k_norm_->forward(qkv[1]), qkv[2]};
}

at::Tensor Projection::convolved(const at::Tensor& joined, ConvolutionTail& tail,
                                 const SequenceLayout& layout) const {
  if (layout.documents.empty()) {
    if (layout.sharding) return sharded_convolution(joined, tail.rows, *layout.sharding);
    return causal_convolution(joined, conv_, tail.rows, more_rows(layout));
  }
  std::vector<at::Tensor> results;
  const auto documents = at::split_with_sizes(joined, document_lengths(layout), 1);
  for (size_t i = 0; i < documents.size(); ++i) {
    if (i > 0) tail = initial_tail(joined.size(0));
    results.push_back(convolved(documents[i], tail, layout.documents[i]));
  }
  return at::cat(results, 1);
}

/// Each range of this rank's tokens comes with the few before it, wherever these are held; `tail` has those
/// before the sequence.
at::Tensor Projection::sharded_convolution(const at::Tensor& joined, at::Tensor& tail,
                                           const Sharding& sharding) const {
  const SequenceLayout& whole = sharding.whole();
  const int64_t before = conv_.size(0) - 1;
  const auto with_tail = [&](Range range) -> Range {
    return {std::max(whole.begin, range.begin - before), range.end};
  };
  // Every rank has the tail of what comes next.
  const int64_t kept = before + more_rows(whole);
  const Range last = {std::max(whole.begin, whole.end() - kept), whole.end()};
  std::vector<std::vector<Range>> needed;
  for (const auto& ranges : sharding.of_shards()) {
    std::vector<Range> wider = {last};
    for (const auto& range : ranges) wider.push_back(with_tail(range));
    needed.push_back(merged(std::move(wider)));
  }
  const at::Tensor here = sharding.fetch(joined, needed, "fetching tokens for a convolution");
  const auto& own = needed[size_t(sharding.shard())];
  const auto tokens = [&](Range range) {
    return range.empty() ? here.narrow(1, 0, 0) : here.narrow(1, place_in(own, range.begin), range.size());
  };
  std::vector<at::Tensor> results = {here.narrow(1, 0, 0)};
  for (const auto& range : sharding.own()) {
    const Range wider = with_tail(range);
    at::Tensor earlier = wider.begin == whole.begin ? tail : at::zeros_like(tail);
    const at::Tensor mixed = causal_convolution(tokens(wider), conv_, earlier);
    results.push_back(mixed.narrow(1, range.begin - wider.begin, range.size()));
  }
  const at::Tensor all = at::cat({tail.to(here.scalar_type()), tokens(last)}, 1);
  const int64_t next = std::min(all.size(1), kept);
  tail = all.narrow(1, all.size(1) - next, next).clone();
  return at::cat(results, 1);
}

Projected Projection::keys_and_values(const at::Tensor& x) const {
  const profile::Scope part("projections");
  LACT_ASSERT(!conv_.defined());
  const int64_t width = x.size(-1);
  const auto parts = qkv_->forward_rows(x, width, 2 * width).chunk(2, -1);
  return {x, {}, k_norm_ ? k_norm_->forward(parts[0]) : parts[0], parts[1]};
}

Projected Projection::queries(const at::Tensor& x) const {
  const profile::Scope part("projections");
  LACT_ASSERT(!conv_.defined());
  const at::Tensor q = qkv_->forward_rows(x, 0, x.size(-1));
  return {x, q_norm_ ? q_norm_->forward(q) : q, {}, {}};
}

at::Tensor Projection::out(const at::Tensor& mixed) const {
  const profile::Scope part("projections");
  return output_->forward(mixed);
}

}  // namespace lact
