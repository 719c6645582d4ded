// What one sequence (a text, the views of a scene, a clip) asks of a model, part by part: operations, bytes
// that elementwise steps move, bytes that the backward pass keeps, and what ranks would have to tell each
// other. Nothing here knows a machine or a mesh.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lact/models/plan/machine.h"
#include "lact/models/presets.h"
#include "lact/nn/recompute.h"

namespace lact::models::plan {

inline constexpr double kFloatBytes = 4;

/// train: a step. prefill: reading a text, the input views or a clean chunk. render: a target view of a scene
/// that was read, or one evaluation of the next chunk of a video.
enum class Pass { train, prefill, render };
constexpr std::array<std::pair<Pass, std::string_view>, 3> enum_names(Pass) {
  return {{{Pass::train, "train"}, {Pass::prefill, "prefill"}, {Pass::render, "render"}}};
}

/// Where nothing is said, the model's usual sizes hold.
struct Sizes {
  Pass pass = Pass::train;
  bool bf16 = true;
  std::optional<int64_t> length;                      ///< tokens of a text
  std::optional<int64_t> views, targets, image_size;  ///< of a scene
  std::optional<int64_t> chunks, noise_repeats;       ///< of a clip
};

/// Forward, of one block and one sequence.
struct WorkPart {
  std::string name;
  Kind kind = Kind::products;
  double flops = 0;
  double bytes = 0;     ///< read and written by elementwise steps
  double weights = 0;   ///< bytes of its weights, which every rank reads once for a batch
  double backward = 2;  ///< times the forward pass
  double again = 0;     ///< share of it that recomputing the memory's hidden layers repeats
};

/// What the backward pass needs, in bytes for one sequence.
struct Kept {
  double input = 0;     ///< of the block
  double results = 0;   ///< of products, attention and scans
  double cheap = 0;     ///< of elementwise steps and norms
  double hidden = 0;    ///< hidden layers of the fast-weight networks
  double updates = 0;   ///< fast weights and momentum before every update: of all heads, whatever the tokens
  double iterates = 0;  ///< Newton-Schulz's, likewise
};

/// Bytes that one forward pass of a block would move if its tokens, or its heads, were on several ranks.
struct Exchanged {
  double by_heads = 0;  ///< q, k, v and rates to the ranks of their heads, results back
  double head_calls = 0;
  double fast_weights = 0;  ///< gradients of all written matrices, in every update
  double updates = 0;
  double keys = 0;  ///< keys and values that the pieces of a sequence see and may not have
  double key_calls = 0;
  double states = 0;  ///< of recurrences, handed from piece to piece
  double state_calls = 0;
};

struct BlockWork {
  int64_t count = 0;
  std::vector<WorkPart> parts;
  Kept kept;
  Exchanged exchanged;
  double transient = 0;   ///< bytes of gradients that are alive at once inside a block
  double parameters = 0;  ///< of one
};

struct Heads {
  std::string name;  ///< "attention heads"
  int64_t count = 0;
};

struct Workload {
  Task task = Task::lm;
  Sizes sizes;
  std::string text;           ///< "texts of 32768 tokens"
  std::string sequence;       ///< "text", "scene" or "clip"
  double tokens = 0;          ///< of a sequence
  double shortest_chunk = 0;  ///< tokens that are shared out at once
  std::vector<Heads> heads;   ///< that a tensor axis must divide
  std::vector<BlockWork> blocks;
  std::vector<WorkPart> others;  ///< embedding, head
  double other_kept = 0;         ///< bytes kept outside of blocks
  double other_transient = 0;    ///< workspaces of the head, whatever the tokens
  double parameters = 0;

  int64_t num_blocks() const;
};

/// Throws a sentence for sizes that do not belong to the model or do not fit it.
Workload workload(const ModelConfig& config, const Sizes& sizes);

}  // namespace lact::models::plan
