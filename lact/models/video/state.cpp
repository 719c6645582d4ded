#include "lact/models/video/state.h"

#include "lact/base/error.h"

namespace lact::models {

void VideoState::visit(StateVisitor& visitor, const std::string& prefix) {
  visitor.number(prefix + "chunks", chunks);
  visitor.number(prefix + "rows", rows);
  visitor.number(prefix + "columns", columns);
  for (size_t i = 0; i < layers.size(); ++i)
    layers[i]->visit(visitor, fmt::format("{}blocks.{}.", prefix, i));
}

std::unique_ptr<VideoState> VideoState::copy() const {
  auto copy = std::make_unique<VideoState>();
  copy->batch = batch;
  copy->chunks = chunks;
  copy->rows = rows;
  copy->columns = columns;
  copy->layers = clone_all(layers);
  return copy;
}

}  // namespace lact::models
