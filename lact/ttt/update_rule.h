// How a direction computed from one chunk changes the fast weights (paper section 3.2 and appendix,
// "Implementing momentum"): plain step, momentum, Muon, momentum + Muon; each with row norms put back to
// where they began. And what else can be done with it: several steps per chunk, uphill, one matrix alone, an
// elastic anchor.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "lact/ops/newton_schulz/newton_schulz.h"
#include "lact/parallel/group.h"
#include "lact/ttt/network.h"

namespace lact::ttt {

/// What a fast-weight layer remembers of the sequence so far: constant in size, explicit, owned by the
/// caller. Carried across calls, it makes a sequence in pieces give the same numbers as the sequence at once.
struct Memory {
  Matrices weights;        ///< read by `apply` and differentiated by `update`; [B, H, out, in]
  Matrices initial_norms;  ///< row norms that updates restore; [B, H, out, 1]
  Matrices momentum;       ///< zero before the first update; empty without momentum
  Matrices accumulated;    ///< un-normalised weights, only with pre-norm
  Matrices anchor;         ///< what an elastic anchor pulls to, and
  Matrices importance;     ///< how much each element has moved lately; empty without an anchor
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

/// all: every matrix that is not fixed. down: only the matrix that gives the output (of SwiGLU, down); the
/// others stay as they began.
enum class Written { all, down };
constexpr std::array<std::pair<Written, std::string_view>, 2> enum_names(Written) {
  return {{{Written::all, "all"}, {Written::down, "down"}}};
}

/// Pulls the stored weights back to a slow average of themselves, least where they move most (docs/maths.md).
struct ElasticAnchor {
  double pull = 0;
  double importance_decay = 0.5;
  double anchor_decay = 0.8;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("pull", pull,
          "share of the way back to the anchor that an unimportant weight takes; 0 is no anchor");
    field("importance_decay", importance_decay, "F <- decay F + (1 - decay) step²");
    field("anchor_decay", anchor_decay, "anchor <- decay anchor + (1 - decay) weight");
  }
  bool operator==(const ElasticAnchor&) const = default;
};

struct UpdateRule {
  bool momentum = false;
  bool muon = false;
  ops::NewtonSchulzOptions newton_schulz;
  NormPlacement norm_placement = NormPlacement::post;
  NormTarget norm_target = NormTarget::initial;
  double norm_epsilon = 1e-5;
  bool detach_norm = false;
  int64_t steps = 1;
  bool ascent = false;
  Written written = Written::all;
  ElasticAnchor elastic;

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
    field("steps", steps, "steps that a chunk takes, each along the gradient where the one before has led");
    field("ascent", ascent, "steps go uphill: the sign of the gradient is turned");
    field("written", written, "all matrices, or only the one that gives the output: down");
    field("elastic", elastic, "an anchor that the weights are pulled back to");
  }
  bool operator==(const UpdateRule&) const = default;
};

/// For each matrix of the network, whether the rule writes it.
std::vector<bool> written_matrices(const FastWeightNetwork& network, const UpdateRule& rule);

/// A memory that holds `weights` [B, H, out, in] and has not seen anything. `written`: for each matrix; all
/// without it.
Memory start_memory(const UpdateRule& rule, Matrices weights, const std::vector<bool>& written = {});

/// Takes one step along `direction` (Σ_t rate_t · -∂L_t/∂W, one per matrix; undefined: it stays as it is).
/// beta [B, H, C, 1]: the chunk's per-token momentum, averaged here; undefined without momentum.
/// `ranks` that all take the same step orthogonalise a share of the heads each.
void write(Memory& memory, const UpdateRule& rule, Matrices direction, const at::Tensor& beta,
           const parallel::Group& ranks = {});

}  // namespace lact::ttt
