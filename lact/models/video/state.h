// What the video model remembers of the clean chunks before the one it denoises.
#pragma once

#include <vector>

#include "lact/mixers/state.h"

namespace lact::models {

/// For each block the fast weights and the keys and values of the visible part of the last clean chunk:
/// constant in size, whatever was written. With full attention, the keys and values of all chunks.
struct VideoState : State {
  int64_t batch = 1;
  int64_t chunks = 0;             ///< written so far
  int64_t rows = 0, columns = 0;  ///< tokens of a frame; 0 before the first chunk
  std::vector<std::unique_ptr<State>> layers;

  void visit(StateVisitor& visitor, const std::string& prefix) override;
  std::unique_ptr<State> clone() const override { return copy(); }
  std::unique_ptr<VideoState> copy() const;
};

}  // namespace lact::models
