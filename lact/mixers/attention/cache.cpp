#include "lact/mixers/attention/cache.h"

#include <ATen/ATen.h>

#include "lact/mixers/token_buffer.h"
#include "lact/ops/attention/window_attention.h"

namespace lact::attention {

namespace {

using ops::CacheFormat;
using ops::KeptTokens;

void append_kept(KeptTokens& kept, const KeptTokens& fresh) {
  append_tokens(kept.numbers, fresh.numbers, 1);
  if (fresh.scales.defined()) append_tokens(kept.scales, fresh.scales, 1);
}

/// `drop` is of the first or of the last tokens.
void drop_kept(KeptTokens& kept, int64_t count, void (*drop)(at::Tensor&, int64_t, int64_t)) {
  drop(kept.numbers, count, 1);
  if (kept.scales.defined()) drop(kept.scales, count, 1);
}

at::Tensor followed_by(const KeptTokens& kept, const at::Tensor& fresh) {
  if (kept.count() == 0) return fresh;
  return at::cat({ops::widened(kept, fresh.scalar_type()), fresh}, 1);
}

}  // namespace

void KeyValueCache::visit_tokens(StateVisitor& visitor, const std::string& prefix) {
  visitor.tokens(prefix + "k", k);
  visitor.tokens(prefix + "v", v);
}

void KeyValueCache::append(const at::Tensor& fresh_k, const at::Tensor& fresh_v, CacheFormat format) {
  append_kept(k, ops::keep(fresh_k, format));
  append_kept(v, ops::keep(fresh_v, format));
}

void KeyValueCache::drop(int64_t tokens) {
  drop_kept(k, tokens, drop_tokens);
  drop_kept(v, tokens, drop_tokens);
}

void KeyValueCache::drop_last(int64_t tokens) {
  drop_kept(k, tokens, drop_last_tokens);
  drop_kept(v, tokens, drop_last_tokens);
}

at::Tensor KeyValueCache::attend(const HeadInputs& fresh, const ops::Window& window, int64_t first_query,
                                 int64_t first_key) const {
  return ops::window_attention(fresh.q, followed_by(k, fresh.k), followed_by(v, fresh.v), window, first_query,
                               first_key);
}

at::Tensor KeyValueCache::append_and_attend(const HeadInputs& fresh, CacheFormat format,
                                            const ops::Window& window, int64_t first_query,
                                            int64_t first_key) {
  const KeptTokens fresh_k = ops::keep(fresh.k, format), fresh_v = ops::keep(fresh.v, format);
  const bool rounds = fresh_k.numbers.scalar_type() != fresh.k.scalar_type() && fresh.k.size(1) > 1;
  at::Tensor out;
  // Many tokens see each other as they are, and what was kept widened.
  if (rounds) out = attend(fresh, window, first_query, first_key);
  append_kept(k, fresh_k);
  append_kept(v, fresh_v);
  return rounds ? out : ops::kept_attention(fresh.q, k, v, window, first_query, first_key);
}

void Caches::begin(KeyValueCache& cache, const at::Tensor& no_tokens) const {
  cache.k = cache.v = cache_ == CacheFormat::int8 ? ops::keep(no_tokens, cache_) : KeptTokens{no_tokens, {}};
}

void set_cache_below(torch::nn::Module& module, CacheFormat format) {
  if (auto* attention = dynamic_cast<Caches*>(&module)) attention->set_cache(format);
  for (const auto& child : module.children()) set_cache_below(*child, format);
}

}  // namespace lact::attention
