// A scan of fast weights with random inputs, all of which want gradients. bench/peers/ttt.py draws the same
// numbers in the same order.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

#include "lact/bench/session.h"
#include "lact/ttt/scan.h"

namespace lact::bench {

struct TttShape {
  int64_t heads, tokens, chunk, width, hidden;
  bool momentum = false, muon = false;
  int64_t newton_schulz_steps = 5;
  std::string network = "swiglu";  ///< without a hidden layer, `hidden` is the width

  std::string name() const;  ///< "4x2048 256x256", "16x32768/2048 384x384"
  std::string rule() const;  ///< "gd", "muon", "momentum+muon"; "linear gd", "ttt_mlp" of other networks

  /// A network of the original TTT: squared error and no norms of rows, but one inside.
  bool original_ttt() const { return network.starts_with("ttt_"); }
  const ttt::FastWeightNetwork& fast_weights() const { return ttt::network(network); }

  /// Numbers in the matrices of all heads.
  int64_t state() const;
  options::Json sizes() const;
};

class TttProblem {
 public:
  /// `type` is that of the tokens; weights, rates and betas are float32.
  TttProblem(const TttShape& shape, at::ScalarType type);

  /// The first heads and tokens of another problem, in another type.
  TttProblem(const TttProblem& other, int64_t heads, int64_t tokens, at::ScalarType type);

  /// The output, without gradients.
  at::Tensor forward() const;

  /// The output and the gradients of q, k, v, weights, rates and beta.
  std::vector<at::Tensor> forward_backward(bool recompute) const;

 private:
  at::Tensor scan(bool recompute) const;
  std::vector<at::Tensor> leaves() const;

  TttShape shape_;
  ttt::UpdateRule update_;
  ttt::Matrices weights_;
  ttt::ScanInputs inputs_;
  at::Tensor cotangent_;  ///< of the output
};

/// Compares a problem's answers with the reference in float32 on its first heads, which runs once.
class TttCheck {
 public:
  TttCheck(const TttProblem& problem, const TttShape& shape);

  /// |difference| / |expected| of the output or, with backward, of the worst of output and gradients; of the
  /// fused path, or of the reference itself in the tokens' type.
  double error(bool backward, bool recompute, bool fused = true);

  /// The same of the fused path in float32.
  double error_in_float32(bool backward, bool recompute);

  /// The same on the first chunk alone, in the tokens' type: one write, and what is read after it.
  double error_of_first_chunk(bool backward, bool recompute);

 private:
  double compare(const TttProblem& problem, bool backward, bool recompute, bool fused);
  const std::vector<at::Tensor>& expected();

  const TttProblem& problem_;
  TttShape shape_;  ///< with as many heads as are compared
  std::vector<at::Tensor> expected_;
};

/// Whether a chunk of so many tokens gives the gradients of matrices so wide their full rank. The
/// orthogonalisation of one of low rank is mostly rounding at once.
inline bool gives_full_rank(int64_t chunk, int64_t widest) { return chunk >= 2 * widest; }

/// For Muon in bfloat16; nothing for others.
std::optional<GrowingRounding> ttt_rounding(TttCheck& check, const TttShape& shape, at::ScalarType type,
                                            bool backward, bool recompute);

/// What rounding may cost: Newton-Schulz amplifies small singular values by hundreds.
double ttt_tolerance(const TttShape& shape, at::ScalarType type);

}  // namespace lact::bench
