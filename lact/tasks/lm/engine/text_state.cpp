#include "lact/tasks/lm/engine/text_state.h"

#include "lact/base/error.h"
#include "lact/models/lm/memory_file.h"

namespace lact::tasks::lm {

TextState snapshot(const models::LmStream& stream, const Loaded& lm) {
  LACT_ASSERT(&stream.model() == lm.model.get());
  return std::make_shared<const Snapshot>(
      Snapshot{stream.memory().history.id(), stream.memory().clone(), lm.model});
}

models::LmStream stream_from(const TextState& state, const Loaded& lm) {
  if (!state) return models::LmStream(lm.model);
  LACT_CHECK(state->model == lm.model, "[engine] the state is of another model");
  return {lm.model, state->memory.clone()};
}

TextState compacted(const TextState& state) {
  if (state->memory.is_compact()) return state;
  return std::make_shared<const Snapshot>(Snapshot{state->id, state->memory.compact(), state->model});
}

void save_text_state(const std::string& path, const TextState& state, const Loaded& lm) {
  LACT_CHECK(state != nullptr, "{}: there is nothing to remember, nothing was read", path);
  models::LmStream stream = stream_from(state, lm);
  models::save_memory(path, stream, fingerprint_of(lm));
}

TextState load_text_state(const std::string& path, const Loaded& lm) {
  return snapshot(models::load_memory(path, lm.model, fingerprint_of(lm)), lm);
}

int64_t forgettable(const TextState& state, const Loaded& lm) { return stream_from(state, lm).forgettable(); }

TextState rolled_back(const TextState& state, int64_t tokens, const Loaded& lm) {
  models::LmStream stream = stream_from(state, lm);
  stream.roll_back(tokens);
  return snapshot(stream, lm);
}

}  // namespace lact::tasks::lm
