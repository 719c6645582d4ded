#include "lact/train/task.h"

#include <fmt/format.h>

namespace lact::train {

std::string Task::loss_text(double loss) const { return fmt::format("loss {:.3f}", loss); }

}  // namespace lact::train
