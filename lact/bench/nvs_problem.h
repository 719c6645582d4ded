// The view-synthesis models that are measured: a scene of noise, what is asked of it, and how wrong an answer
// is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lact/base/options.h"
#include "lact/bench/session.h"
#include "lact/models/nvs/model.h"

namespace lact::bench {

struct NvsShape {
  std::string name;  ///< of the preset
  models::NvsConfig config;
  int64_t inputs = 8, targets = 4;
  int64_t size = 64;  ///< of a square picture, in pixels

  /// "nvs_small 8x128", with the word of the mixer for `rule`.
  std::string text() const;
  std::string rule() const;
  int64_t tokens_of_view() const;
  options::Json sizes() const;
};

class NvsProblem {
 public:
  explicit NvsProblem(const NvsShape& shape);

  models::NvsModel& model() const { return *model_; }

  std::unique_ptr<models::NvsState> reconstruct(at::ScalarType type) const;
  at::Tensor render(const models::NvsState& state, at::ScalarType type) const;  ///< [3, H, W]
  /// Mean squared error of the targets.
  at::Tensor loss(at::ScalarType type) const;

  /// |difference| / |expected| of what is remembered, of a view's deviation from grey, and of all gradients:
  /// the fused path, or the reference form, in that type, against the reference form in float32.
  double reconstruct_error(at::ScalarType type, bool fused) const;
  double render_error(const models::NvsState& state, at::ScalarType type, bool fused) const;
  double gradient_error(at::ScalarType type, bool fused) const;

 private:
  std::shared_ptr<models::NvsModel> model_;
  int64_t inputs_, targets_, size_;
  at::Tensor images_, intrinsics_, camera_to_world_;  ///< of inputs and then targets
};

/// A model of a few numbers.
models::NvsConfig quick_nvs_config();

/// What all passes share: `error(type, fused)` is the pass's measure.
Trial nvs_trial(const Session& session, const NvsShape& shape, const std::string& pass,
                const std::string& precision, const std::function<double(at::ScalarType, bool)>& error);

/// What a good implementation executes, two operations per multiply-add; 0 where nobody has counted.
enum class NvsPass { reconstruct, render, forward };
double nvs_work(const NvsShape& shape, NvsPass pass);

/// The sizes that bench/peers/nvs.py asks for.
options::Json nvs_peer_request(const NvsShape& shape, const std::string& op);

}  // namespace lact::bench
