// Keys and values that later tokens see: what window and full attention keep in their states.
#pragma once

#include "lact/mixers/attention/heads.h"
#include "lact/mixers/state.h"
#include "lact/ops/attention/kept_tokens.h"

namespace lact::attention {

/// Keys (normed and rotated) and values, [B, T, H, D] each, in one format.
struct KeyValueCache {
  ops::KeptTokens k, v;

  int64_t count() const { return k.count(); }
  void visit_tokens(StateVisitor& visitor, const std::string& prefix);

  /// Appends without copying what is there (token_buffer.h).
  void append(const at::Tensor& fresh_k, const at::Tensor& fresh_v, ops::CacheFormat format);
  /// Forgets the first ones.
  void drop(int64_t tokens);
  /// Forgets the last ones.
  void drop_last(int64_t tokens);

  /// Appends all tokens of a piece, of which q are the queries, and attends to what is then there: positions
  /// from `first_key` on. Many tokens see each other unrounded.
  at::Tensor append_and_attend(const HeadInputs& fresh, ops::CacheFormat format, const ops::Window& window,
                               int64_t first_query, int64_t first_key);
  /// Attends to what is there and then to the tokens of the piece, which are not kept.
  at::Tensor attend(const HeadInputs& fresh, const ops::Window& window, int64_t first_query,
                    int64_t first_key) const;
};

/// Attention whose states begin with an empty cache.
class Caches {
 public:
  virtual ~Caches() = default;

  /// How states that begin from now on keep keys and values. Other than `automatic` for inference only.
  void set_cache(ops::CacheFormat format) { cache_ = format; }

 protected:
  void begin(KeyValueCache& cache, const at::Tensor& no_tokens) const;
  /// That of a state's first tokens: int8 has scales from the beginning.
  ops::CacheFormat format_of(const KeyValueCache& cache) const {
    return cache.k.scales.defined() ? ops::CacheFormat::int8 : cache_;
  }

 private:
  ops::CacheFormat cache_ = ops::CacheFormat::automatic;
};

/// Of every attention below the module.
void set_cache_below(torch::nn::Module& module, ops::CacheFormat format);

}  // namespace lact::attention
