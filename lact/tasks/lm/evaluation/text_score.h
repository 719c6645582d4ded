// How well a language model predicts a text of any length, read once in constant memory.
#pragma once

#include <span>

#include "lact/models/lm/stream.h"

namespace lact::tasks::lm {

/// Losses of the next tokens, as a stream reads on.
class TextScorer {
 public:
  explicit TextScorer(models::LmStream& stream) : stream_(stream) {}

  /// Called with the loss [n] of consecutive tokens, the first of them at place `first` of the text.
  using OnLosses = std::function<void(const at::Tensor& losses, int64_t first)>;

  void read(std::span<const int64_t> tokens, const OnLosses& on_losses = {});

  double total() const { return total_; }  ///< nats
  int64_t scored() const {
    return scored_;
  }  ///< tokens; the first of a text has nothing to be predicted from
  double mean() const { return scored_ > 0 ? total_ / double(scored_) : 0; }

 private:
  models::LmStream& stream_;
  double total_ = 0;
  int64_t scored_ = 0;
};

}  // namespace lact::tasks::lm
