#include "lact/models/video/sigma_table.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/models/video/flow.h"

namespace lact::models {

SigmaTable::SigmaTable(const SigmaTableOptions& options) {
  LACT_CHECK(options.steps > 0, "[flow] {} noise levels, expected at least 1", options.steps);
  LACT_CHECK(options.shift > 0, "[flow] shift is {}, expected a number above 0", options.shift);
  LACT_CHECK(options.first <= 1 && options.last >= 0 && options.last < options.first,
             "[flow] noise levels from {} to {}, expected from at most 1 down to at least 0", options.first,
             options.last);
  const int64_t levels = options.steps + (options.leave_out_last ? 1 : 0);
  sigmas_ = shift_time(at::linspace(options.first, options.last, levels, at::kDouble), options.shift)
                .narrow(0, 0, options.steps);
}

at::Tensor SigmaTable::timesteps() const { return kTrainingTimesteps * sigmas_; }

at::Tensor SigmaTable::nearest(const at::Tensor& wanted) const {
  return (timesteps().unsqueeze(0) - wanted.to(at::kDouble).unsqueeze(1)).abs().argmin(1);
}

at::Tensor SigmaTable::sigma(const at::Tensor& rows) const {
  return at::cat({sigmas_, at::zeros({1}, at::kDouble)}).index_select(0, rows);
}

at::Tensor SigmaTable::bell_weights() const {
  const double steps = double(sigmas_.numel());
  const at::Tensor bell = at::exp(-2 * ((timesteps() - steps / 2) / steps).square());
  const at::Tensor raised = bell - bell.min();
  return raised * (steps / raised.sum());
}

}  // namespace lact::models
