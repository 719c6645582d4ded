#include "lact/models/lm/model.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/base/profile.h"
#include "lact/mixers/sharding.h"
#include "lact/models/common/weights_fit.h"
#include "lact/nn/init.h"
#include "lact/ops/dispatch/device.h"
#include "lact/ops/dispatch/dtypes.h"

namespace lact::models {

namespace {

/// The linear layer whose weight has this name, except those of the mixers' cores: they are small, and what
/// they say about rates and momentum stays in the memory.
nn::Linear* linear_of(torch::nn::Module& module, const std::string& parameter) {
  if (dynamic_cast<Core*>(&module) != nullptr) return nullptr;
  const size_t dot = parameter.find('.');
  if (dot == std::string::npos) return parameter == "weight" ? module.as<nn::Linear>() : nullptr;
  const auto children = module.named_children();
  const auto* child = children.find(parameter.substr(0, dot));
  return child == nullptr ? nullptr : linear_of(**child, parameter.substr(dot + 1));
}

void check_ids(const at::Tensor& ids) {
  LACT_CHECK(ids.dim() == 2 && ids.scalar_type() == at::kLong && ids.numel() > 0,
             "[lm] the token ids have shape {} and type {}, expected [B, T] of int64 with at least one token",
             ids.sizes().vec(), toString(ids.scalar_type()));
}

void check_vocabulary(const at::Tensor& ids, int64_t vocabulary_size) {
  const auto [lowest, highest] = at::aminmax(ids);
  LACT_CHECK(lowest.item<int64_t>() >= 0 && highest.item<int64_t>() < vocabulary_size,
             "[lm] token {} is outside of the model's vocabulary of {}",
             lowest.item<int64_t>() < 0 ? lowest.item<int64_t>() : highest.item<int64_t>(), vocabulary_size);
}

}  // namespace

void LmState::visit(StateVisitor& visitor, const std::string& prefix) {
  visitor.number(prefix + "position", position);
  for (size_t i = 0; i < blocks.size(); ++i)
    blocks[i]->visit(visitor, fmt::format("{}blocks.{}.", prefix, i));
}

std::unique_ptr<LmState> LmState::copy() const {
  auto copy = std::make_unique<LmState>();
  copy->position = position;
  for (const auto& block : blocks) {
    copy->blocks.push_back(std::make_unique<BlockState>());
    copy->blocks.back()->mixers = clone_all(block->mixers);
  }
  return copy;
}

int64_t LmState::forgettable() const {
  int64_t tokens = position;
  for (const auto& block : blocks) tokens = std::min(tokens, block->forgettable());
  return tokens;
}

void LmState::forget_last(int64_t tokens) {
  for (const auto& block : blocks) block->forget_last(tokens);
  position -= tokens;
}

LanguageModel::LanguageModel(const LmConfig& config) : config_(config) {
  config.check();
  check_parameters(cost(config));
  const int64_t width = config.model_dim;
  embeddings_ = register_parameter("embeddings", at::empty({config.vocabulary_size, width}));
  for (int64_t i = 0; i < config.num_layers; ++i) {
    const std::vector<std::shared_ptr<Mixer>> mixers = {
        make_layer(width, config.mixer.kind_of(i), config.layer)};
    blocks_.push_back(register_module(
        fmt::format("block{}", i),
        nn::given_to_lender(std::make_shared<Block>(width, config.norm, mixers, config.feed_forward))));
  }
  norm_ = register_module("norm", std::make_shared<nn::Norm>(width, config.norm));
  if (!config.tie_embeddings) {
    head_ = register_module("head", std::make_shared<nn::Linear>(width, config.vocabulary_size, false));
  }
  nn::init_linears(*this, config.init_std);
  nn::init_normal(embeddings_, config.embedding_std > 0 ? config.embedding_std : config.init_std);
}

void LanguageModel::set_world(const parallel::World& world) {
  lact::check_heads(*this, world);
  world_ = world;
}

void LanguageModel::set_recompute(nn::Recompute what) {
  recompute_ = lender_ ? nn::Recompute::blocks : what;
  nn::set_recompute_below(*this, recompute_);
}

void LanguageModel::set_cache(ops::CacheFormat format) { attention::set_cache_below(*this, format); }

ops::WeightError LanguageModel::compress_weights(ops::WeightFormat format) {
  LACT_CHECK(!is_compressed(), "[lm] the weights are compressed already");
  ops::WeightError error;
  for (const auto& name : named_parameters().keys()) {
    if (const auto lost = compress_weight(name, format)) error += *lost;
  }
  return error;
}

std::optional<ops::WeightError> LanguageModel::compress_weight(const std::string& parameter,
                                                               ops::WeightFormat format) {
  if (parameter == "embeddings") {
    compressed_embeddings_.emplace(embeddings_.detach(), format);
    parameters_.erase("embeddings");
    embeddings_ = at::Tensor();
    return compressed_embeddings_->error();
  }
  if (auto* linear = linear_of(*this, parameter)) return linear->compress(format);
  return std::nullopt;
}

at::Tensor LanguageModel::embed(const at::Tensor& ids) const {
  const profile::Scope part("embedding");
  if (ids.numel() > 0 && ops::has_values(ids))  // a rank may have no tokens
    check_vocabulary(ids, config_.vocabulary_size);
  return (is_compressed() ? compressed_embeddings_->look_up(ids)
                          : at::embedding(embeddings_, ids.to(embeddings_.device())))
      .to(compute_type_);
}

SequenceLayout LanguageModel::whole_layout(int64_t tokens, const std::vector<int64_t>& lengths) const {
  const auto& [chunk, window] = std::pair(config_.chunk_size, config_.window_size);
  const SequenceLayout layout =
      lengths.empty() ? causal_layout(tokens, chunk, window) : packed_layout(lengths, chunk, window);
  LACT_CHECK(layout.tokens == tokens, "[lm] there are {} tokens but the documents have {}", tokens,
             layout.tokens);
  return share_out(layout, world_);
}

at::Tensor LanguageModel::own_tokens(const at::Tensor& all, const std::vector<int64_t>& lengths) const {
  const SequenceLayout layout = whole_layout(all.size(1), lengths);
  return layout.sharding ? layout.sharding->take(all, 1) : all;
}

at::Tensor LanguageModel::hidden(const at::Tensor& ids, std::vector<at::Tensor>* between_blocks) {
  check_ids(ids);
  const SequenceLayout layout = whole_layout(ids.size(1), {});
  return through_blocks(embed(layout.sharding ? layout.sharding->take(ids, 1) : ids), layout, between_blocks);
}

at::Tensor LanguageModel::hidden_of_documents(const at::Tensor& ids, const std::vector<int64_t>& lengths) {
  check_ids(ids);
  const SequenceLayout layout = whole_layout(ids.size(1), lengths);
  return through_blocks(embed(layout.sharding ? layout.sharding->take(ids, 1) : ids), layout, nullptr);
}

at::Tensor LanguageModel::through_blocks(at::Tensor x, const SequenceLayout& layout,
                                         std::vector<at::Tensor>* between_blocks) {
  for (const auto& block : blocks_) {
    if (between_blocks != nullptr) between_blocks->push_back(x);
    const auto run = [block, layout](const at::Tensor& input) { return block->forward(input, layout); };
    x = recompute_ == nn::Recompute::blocks ? nn::recompute(run, x, {lender_, block}) : run(x);
  }
  return norm_->forward(x);
}

at::Tensor LanguageModel::logits(const at::Tensor& hidden) const {
  return ops::at_least_float(head_ ? head_->forward(hidden) : by_embeddings(hidden));
}

at::Tensor LanguageModel::by_embeddings(const at::Tensor& hidden) const {
  if (is_compressed()) return ops::compressed_linear(hidden, *compressed_embeddings_, {});
  if (ops::is_few_token_linear(hidden, embeddings_)) return ops::few_token_linear(hidden, embeddings_, {});
  return at::matmul(hidden, embeddings_.t().to(hidden.scalar_type()));
}

at::Tensor LanguageModel::advance(const at::Tensor& ids, LmState& state) {
  LACT_ASSERT(state.blocks.size() == blocks_.size());
  check_ids(ids);
  SequenceLayout layout = causal_piece(state.position, ids.size(1), config_.chunk_size, config_.window_size);
  // Ranks share whole chunks; what is left over each reads by itself.
  if (state.position % config_.chunk_size == 0 && ids.size(1) % config_.chunk_size == 0) {
    LACT_CHECK(world_.tensor.alone(),
               "[lm] a text that goes on is shared out by its tokens alone, but the mesh is {}",
               parallel::to_string(world_.mesh));
    layout = share_out(layout, world_);
  }
  at::Tensor x = embed(layout.sharding ? layout.sharding->take(ids, 1) : ids);
  for (size_t i = 0; i < blocks_.size(); ++i) x = blocks_[i]->advance(x, layout, *state.blocks[i]);
  state.position += ids.size(1);
  x = norm_->forward(x);
  return layout.sharding ? layout.sharding->put_together(x) : x;
}

at::Tensor LanguageModel::advance_together(const at::Tensor& ids, std::span<TextPiece> texts) {
  check_ids(ids);
  std::vector<SequenceLayout> layouts;
  for (const TextPiece& text : texts) {
    layouts.push_back(
        causal_piece(text.state->position, text.tokens, config_.chunk_size, config_.window_size));
  }
  at::Tensor x = embed(ids);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    std::vector<SequencePiece> pieces;
    for (size_t k = 0; k < texts.size(); ++k) {
      LACT_ASSERT(texts[k].state->blocks.size() == blocks_.size());
      pieces.push_back({&layouts[k], texts[k].state->blocks[i].get(), &texts[k].failure});
    }
    x = blocks_[i]->advance_together(x, pieces);
  }
  for (TextPiece& text : texts) {
    if (!text.failure) text.state->position += text.tokens;
  }
  return norm_->forward(x);
}

std::unique_ptr<LmState> LanguageModel::initial_state(int64_t batch) {
  auto state = std::make_unique<LmState>();
  for (const auto& block : blocks_) state->blocks.push_back(block->initial_state(batch));
  return state;
}

}  // namespace lact::models
