// RMS-norm and LayerNorm with a learned scale, over the last dimension.
#pragma once

#include <torch/nn/module.h>

#include <array>
#include <string_view>
#include <utility>

namespace lact::nn {

enum class NormKind { rms, layer };
constexpr std::array<std::pair<NormKind, std::string_view>, 2> enum_names(NormKind) {
  return {{{NormKind::rms, "rms"}, {NormKind::layer, "layer"}}};
}

struct NormOptions {
  NormKind kind = NormKind::rms;
  double epsilon = 1e-6;
  bool bias = false;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("kind", kind, "rms or layer");
    field("epsilon", epsilon, "added to the mean square or variance");
    field("bias", bias, "a learned shift (layer only)");
  }
  bool operator==(const NormOptions&) const = default;
};

class Norm : public torch::nn::Module {
 public:
  Norm(int64_t width, const NormOptions& options);

  at::Tensor forward(const at::Tensor& x) const;

  at::Tensor weight;  ///< [width], starts at one
  at::Tensor bias;    ///< [width], starts at zero; undefined without bias

 private:
  NormOptions options_;
};

}  // namespace lact::nn
