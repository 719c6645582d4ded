#include "lact/ttt/loss.h"

#include "lact/ttt/name_table.h"

namespace lact::ttt {

// losses.inc lists the files of losses/ as LACT_LOSS(file name); the build writes it.
#define LACT_LOSS(name) const FastWeightLoss& name##_loss();
#include "lact/ttt/losses.inc"
#undef LACT_LOSS

namespace {
const NameTable<FastWeightLoss>& losses() {
  static const NameTable<FastWeightLoss> rows = {
#define LACT_LOSS(name) {#name, &name##_loss},
#include "lact/ttt/losses.inc"
#undef LACT_LOSS
  };
  return rows;
}
}  // namespace

const FastWeightLoss& loss(const std::string& name) { return find(losses(), "fast-weight loss", name); }
std::vector<std::string> loss_names() { return names(losses()); }

}  // namespace lact::ttt
