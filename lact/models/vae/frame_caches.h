// What the layers of a causal video network keep of the frames that they have read: zeros before the first.
#pragma once

#include <vector>

#include "lact/mixers/state.h"

namespace lact::models {

/// The caller owns it and gives it to every piece of one clip. Layers take their frames in the order in which
/// they run, which is the same for every piece.
class FrameCaches : public State {
 public:
  bool at_first_frame() const { return frames_ == 0; }
  int64_t frames() const { return frames_; }

  /// Before the layers run on a piece; `advance` afterwards.
  void rewind() { next_ = 0; }
  void advance(int64_t frames) { frames_ += frames; }

  /// The next layer's frames [B, C, count, H, W], shaped like x [B, C, frames, H, W].
  at::Tensor& next(const at::Tensor& x, int64_t count);

  /// Forgets all frames; shapes stay, so that a state file can be read into them.
  void reset();

  void visit(StateVisitor& visitor, const std::string& prefix) override;
  std::unique_ptr<State> clone() const override { return std::make_unique<FrameCaches>(*this); }

 private:
  std::vector<at::Tensor> kept_;
  size_t next_ = 0;
  int64_t frames_ = 0;
};

/// The `count` frames before x, then x: [B, C, count + frames, H, W]. Without caches, x is a whole clip. The
/// last `count` frames are kept for the next piece.
at::Tensor with_frames_before(const at::Tensor& x, int64_t count, FrameCaches* caches);

}  // namespace lact::models
