// The one interface of everything that moves information along the sequence.
//
// A Mixer is a layer: tokens in, tokens out. Its heart is a Core, which works on given q, k, v and owns no
// projections: `SingleMixer` puts projections around one core, `HybridMixer` lets window attention and
// another core share theirs.
#pragma once

#include <torch/nn/module.h>

#include <exception>
#include <memory>
#include <span>

#include "lact/mixers/layout.h"
#include "lact/mixers/state.h"
#include "lact/parallel/group.h"

namespace lact {

/// A layer's input and its projections, each [B, T, M].
struct Projected {
  at::Tensor x, q, k, v;
};

class Core : public torch::nn::Module {
 public:
  /// The learned initial state for a batch.
  virtual std::unique_ptr<State> initial_state(int64_t batch) = 0;

  /// Continues from `state` and advances it; returns [B, T, M].
  virtual at::Tensor mix(const Projected& in, const SequenceLayout& layout, State& state) = 0;

  /// Whether `mix` takes a layout of several documents as it is; else it gets them one by one.
  virtual bool takes_documents() const { return false; }
};

/// What `core` makes of the layout, document by document where it must. The documents after the first begin
/// with the core's initial state; nothing goes on after several.
at::Tensor mix(Core& core, const Projected& in, const SequenceLayout& layout, State& state);

/// A core that also takes a written range in pieces: `collect` all of them, then `write_collected` once. It
/// remembers what one write of the whole range would leave, while tokens pass through memory a piece at a
/// time.
class SetCore : public Core {
 public:
  /// Adds all tokens of a piece; nothing can be read before they are written. Their queries may be undefined.
  virtual void collect(const Projected& in, const SequenceLayout& layout, State& state) = 0;
  /// Of all `ranks`, each of which has collected its own pieces, or none.
  virtual void write_collected(State& state, const parallel::Group& ranks = {}) = 0;

  /// What `layout`, which writes nothing, reads, without gradients; the state stays as it is. Keys and values
  /// may be undefined unless a token sees itself.
  virtual bool sees_itself() const = 0;
  virtual at::Tensor read(const Projected& in, const SequenceLayout& layout, const State& state) = 0;
};

/// One text's part of a call that advances several (pieces.h).
struct SequencePiece {
  const SequenceLayout* layout;
  State* state;
  /// Gets what goes wrong with this text alone, which is then of no more use; null: it is thrown.
  std::exception_ptr* failure = nullptr;
};

class Mixer : public torch::nn::Module {
 public:
  virtual std::unique_ptr<State> initial_state(int64_t batch) = 0;

  /// Continues from `state` and advances it; x [B, T, M] are the tokens of `layout`. Undefined if they learn
  /// nothing, as where a Perceiver reads.
  virtual at::Tensor advance(const at::Tensor& x, const SequenceLayout& layout, State& state) = 0;

  /// The same for several texts, whose tokens stand behind each other in x. Unless a mixer knows better, they
  /// go one by one.
  virtual at::Tensor advance_together(const at::Tensor& x, std::span<const SequencePiece> pieces);

  /// A whole sequence from the learned initial state.
  at::Tensor forward(const at::Tensor& x, const SequenceLayout& layout) {
    const auto state = initial_state(x.size(0));
    return advance(x, layout, *state);
  }
};

/// A layer that also takes a written range in pieces, as SetCore says.
class SetMixer : public Mixer {
 public:
  /// Whether it really does: that may depend on its core. If not, the functions below are not for use.
  virtual bool takes_pieces() const { return true; }

  virtual void collect(const at::Tensor& x, const SequenceLayout& layout, State& state) = 0;
  virtual void write_collected(State& state, const parallel::Group& ranks = {}) = 0;

  /// Without gradients; the state stays as it is. Undefined if the tokens learn nothing.
  virtual at::Tensor read(const at::Tensor& x, const SequenceLayout& layout, const State& state) = 0;
};

}  // namespace lact
