// The steps of a fused scan, forward and back, without autograd: what lies between the one autograd function
// (scan_fused.cpp) and the passes over chunks (passes/).
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/custom_class.h>

#include <memory>
#include <vector>

#include "lact/ttt/passes/update.h"
#include "lact/ttt/scan.h"

namespace lact::ttt::fused {

/// What is done with one version of the weights: tokens are read, then tokens are written, or one of the two.
/// With what the backward pass needs. Ranges count from the first query or key. A chunk that takes several
/// steps is so many of these.
struct ChunkStep {
  Range read = {}, written = {};
  bool writes = false;  ///< `written` may be empty where other ranks have the chunk's tokens
  double tokens = 0;    ///< of a write, on all ranks
  size_t repeat = 0;    ///< which of the chunk's steps a write is
  size_t version = 0;
  KeptChunk kept = {};
  at::Tensor kept_prediction = {};
  UpdateTape update = {};  ///< of a write
};

/// Everything that is not a tensor of the graph.
struct Tape : torch::CustomClassHolder {
  UpdateRule rule;
  size_t matrices = 0;
  UpdatePrecision precision;
  std::unique_ptr<FastWeightPasses> passes;
  std::vector<ChunkStep> steps;
  std::vector<PerMatrix> versions;
  bool residual = false;              ///< the negative gradient is v - f(k)
  std::vector<at::Tensor> residuals;  ///< of the tokens, one for each of a chunk's steps
  PerMatrix anchor, importance;       ///< before the scan, then after it
  parallel::Group context;            ///< ranks that have the other tokens of every chunk
  bool needs_gradient = false;
  bool keep = false;
};

/// The tensors of a scan.
struct Tensors {
  at::Tensor q, k, v, beta;
  Matrices rates;
  Memory memory;
};

/// `repeats`: steps that a chunk takes.
std::vector<ChunkStep> steps_of(const Schedule& schedule, const ScanInputs& inputs, int64_t repeats);

/// Tokens [B, H, T, D] laid out as [B, T, H, D], as the layer goes on with them; zeros where no step writes.
at::Tensor token_room(const at::Tensor& like, int64_t width, const Tape& tape, Range ChunkStep::*tokens);

/// Zeros where a gradient is not there.
void fill_missing(PerMatrix& gradients, const PerMatrix& like);

/// Runs the steps; returns the output and leaves the memory as it is after the last one.
at::Tensor run_forward(const Tensors& in, Tape& tape, FlatMemory& memory);

/// Gradients of the tokens, written chunk by chunk.
struct TokenGradients {
  at::Tensor q, k, v, beta;
  Matrices rates;  ///< [heads, T]
};

/// Whether the gradients of a token that is written have several parts: of a chunk's steps, of its
/// prediction. They are added up, from zeros and in float32.
bool has_several_sides(const Tape& tape);

/// From the gradients of the output and of the memory after the last step to those of the tokens and of the
/// memory before the first.
void run_backward(const Tensors& in, Tape& tape, const at::Tensor& out_gradient, MemoryGradients& memory,
                  TokenGradients& tokens);

}  // namespace lact::ttt::fused
