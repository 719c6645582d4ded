// How a direction computed from one chunk changes the fast weights (paper section 3.2 and appendix,
// "Implementing momentum"): plain step, momentum, Muon, momentum + Muon; each with row norms put back to
// where they began.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <string_view>
#include <utility>

#include "lact/ops/newton_schulz/newton_schulz.h"
#include "lact/ttt/network.h"

namespace lact::ttt {

/// What a fast-weight layer remembers of the sequence so far: constant in size, explicit, owned by the
/// caller. Carried across calls, it makes a sequence in pieces give the same numbers as the sequence at once.
struct Memory {
  Matrices weights;        ///< read by `apply` and differentiated by `update`; [B, H, out, in]
  Matrices initial_norms;  ///< row norms that updates restore; [B, H, out, 1]
  Matrices momentum;       ///< zero before the first update; empty without momentum
  Matrices accumulated;    ///< un-normalised weights, only with pre-norm
};

/// post: the stored weights are normalised after each update (paper).
/// pre:  the stored weights accumulate, a normalised copy is read and differentiated (authors' language
/// model, ttt_prenorm). none: no normalisation.
enum class NormPlacement { post, pre, none };
constexpr std::array<std::pair<NormPlacement, std::string_view>, 3> enum_names(NormPlacement) {
  return {{{NormPlacement::post, "post"}, {NormPlacement::pre, "pre"}, {NormPlacement::none, "none"}}};
}

/// initial: the norms of the weights the memory began with (authors' code).
/// previous: the norms of the weights before this update (the paper's algorithm 1, and the authors' video
/// inference).
enum class NormTarget { initial, previous };
constexpr std::array<std::pair<NormTarget, std::string_view>, 2> enum_names(NormTarget) {
  return {{{NormTarget::initial, "initial"}, {NormTarget::previous, "previous"}}};
}

struct UpdateRule {
  bool momentum = false;
  bool muon = false;
  ops::NewtonSchulzOptions newton_schulz;
  NormPlacement norm_placement = NormPlacement::post;
  NormTarget norm_target = NormTarget::initial;
  double norm_epsilon = 1e-5;
  bool detach_norm = false;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("momentum", momentum, "M <- mean(beta) M + g, and M is the step instead of g");
    field("muon", muon, "orthogonalise the step of each matrix by Newton-Schulz");
    field("newton_schulz", newton_schulz, "the orthogonalisation");
    field("norm_placement", norm_placement,
          "row norms restored after each update (post), on a copy that is read (pre), or none");
    field("norm_target", norm_target,
          "norms to restore: of the initial weights, or of the weights before this update");
    field("norm_epsilon", norm_epsilon, "added to a norm before dividing by it; the paper has 0");
    field("detach_norm", detach_norm, "no gradient through the target norms (authors' view synthesis)");
  }
  bool operator==(const UpdateRule&) const = default;
};

/// A memory that holds `weights` [B, H, out, in] and has not seen anything.
Memory start_memory(const UpdateRule& rule, Matrices weights);

/// Takes one step along `direction` (Σ_t rate_t · -∂L_t/∂W, one per matrix).
/// beta [B, H, C, 1]: the chunk's per-token momentum, averaged here; undefined without momentum.
void write(Memory& memory, const UpdateRule& rule, Matrices direction, const at::Tensor& beta);

}  // namespace lact::ttt
