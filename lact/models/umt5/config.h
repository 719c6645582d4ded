// The encoder of umT5, which turns a text's tokens into the numbers that Wan 2.1 attends to.
#pragma once

#include <cstdint>

namespace lact::models {

struct Umt5Config {
  int64_t vocabulary = 256384;
  int64_t model_dim = 4096;
  int64_t attention_dim = 4096;
  int64_t hidden_dim = 10240;
  int64_t num_heads = 64;
  int64_t num_layers = 24;
  int64_t buckets = 32;
  int64_t furthest = 128;
  double norm_epsilon = 1e-6;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("vocabulary", vocabulary, "different tokens");
    field("model_dim", model_dim, "width of the model");
    field("attention_dim", attention_dim, "width of q, k and v, all heads together");
    field("hidden_dim", hidden_dim, "channels inside the feed-forward network");
    field("num_heads", num_heads, "attention heads");
    field("num_layers", num_layers, "blocks");
    field("buckets", buckets, "groups of distances that share a position bias, both directions together");
    field("furthest", furthest, "distance from which on all tokens share one group");
    field("norm_epsilon", norm_epsilon, "added to the mean square");
  }
  bool operator==(const Umt5Config&) const = default;

  /// Throws one sentence for sizes that cannot work.
  void check() const;
};

}  // namespace lact::models
