// The structure of a sequence, all of it in one object: what is written into the fast weights and read in
// which order, who attends to whom, and where each token stands. Text, views and video are three functions
// that make one; every sequence mixer reads the same.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "lact/ops/attention/window_attention.h"
#include "lact/ops/rope/rope.h"
#include "lact/ttt/schedule.h"

namespace lact {

class Sharding;

/// Tables of the rotary embedding for the positions of one layout, each made at the first question: every
/// layer of a model asks for the same one.
class RopeTables {
 public:
  ops::RopeTable get(const at::Tensor& positions, int64_t head_dim, const ops::RopeOptions& options);

 private:
  struct Entry {
    int64_t head_dim;
    double base;
    ops::RopeTable table;
  };
  std::mutex mutex_;
  at::Tensor positions_;
  std::vector<Entry> entries_;
};

/// What a stretch of tokens does to a state that changes with every token (GLA, DeltaNet, Mamba-2). A memory
/// that is written a chunk at a time follows the schedule instead.
enum class Passage {
  remembered,  ///< every token changes the state
  reverted,    ///< likewise, but afterwards the state is what it was before
  read_only,   ///< the state is read and stays as it is
};

struct Stretch {
  Range tokens;
  Passage passage = Passage::remembered;
  bool operator==(const Stretch&) const = default;
};

/// Positions count from the beginning of the whole sequence. A call may bring a later piece of it: its tokens
/// are [begin, begin + tokens), and schedule and window may refer to earlier tokens that the mixers' states
/// have kept.
struct SequenceLayout {
  int64_t begin = 0;
  int64_t tokens = 0;
  ttt::Schedule schedule;
  ops::Window window;
  std::vector<Stretch> stretches;  ///< all tokens, in their order
  bool unordered = false;  ///< what is remembered is a set: recurrences pass over it in both directions
  at::Tensor positions;    ///< [tokens, axes], int64: RoPE coordinates

  /// Sequences that stand here one after the other without knowing of each other, each as it is alone. Empty
  /// if this is one sequence. Schedule, window and positions above say the same: the schedule restarts and
  /// positions count anew where a document begins. A recurrence need not look: `mix` (mixer.h) brings it one
  /// document at a time.
  std::vector<SequenceLayout> documents;

  int64_t keep_keys_from = 0;    ///< later pieces may attend to tokens from here on
  int64_t keep_writes_from = 0;  ///< tokens from here on are written by later pieces

  /// Where the tokens are this rank's part of a sequence (sharding.h): the schedule is of the part, window
  /// and stretches are those of sharding->whole().
  std::shared_ptr<const Sharding> sharding;

  std::shared_ptr<RopeTables> rope_tables = std::make_shared<RopeTables>();

  int64_t end() const { return begin + tokens; }

  /// No later piece needs its keys, values or queries.
  bool keeps_nothing() const { return keep_keys_from >= end() && keep_writes_from >= end(); }

  /// cos and sin of the positions, on `device`; made once for all layers.
  ops::RopeTable rope_table(int64_t head_dim, const ops::RopeOptions& options, at::Device device) const;
};

/// Text: shifted schedule and causal sliding window over a whole sequence.
SequenceLayout causal_layout(int64_t tokens, int64_t chunk, int64_t window);

/// Text in pieces: tokens [begin, begin + tokens) of an endless sequence. Any cut gives the numbers of the
/// whole.
SequenceLayout causal_piece(int64_t begin, int64_t tokens, int64_t chunk, int64_t window);

/// Several texts in one row, such as the documents of a batch in training: each as causal_layout has it. A
/// whole sequence from the initial state.
SequenceLayout packed_layout(const std::vector<int64_t>& document_lengths, int64_t chunk, int64_t window);

/// Tokens of each document of a layout.
std::vector<int64_t> document_lengths(const SequenceLayout& layout);

/// Image sets: all input views are written at once, then all views are read; attention stays inside each
/// view. With no inputs the memory is only read: rendering.
SequenceLayout views_layout(int64_t inputs, int64_t targets, int64_t tokens_per_view);

/// The tokens of one video chunk.
struct ChunkGrid {
  int64_t frames = 1;
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t tokens() const { return frames * rows * columns; }
};

/// Video, teacher forcing: [noisy₁ × repeats, clean₁, noisy₂ × repeats, clean₂, ..., noisy_N × repeats].
/// Clean chunks are written and then read; noisy chunks are only read. A clean chunk attends to itself; a
/// noisy one to itself and the last `visible_clean` tokens of the clean chunk before it (-1: all). Copies of
/// a chunk share their positions.
SequenceLayout interleaved_layout(int64_t chunks, const ChunkGrid& grid, int64_t noise_repeats,
                                  int64_t visible_clean = -1);

/// Video, sampling: the chunk at `index` behind clean ones, which are all that states keep. A noisy chunk is
/// read and then forgotten: it goes to a clone of the state. A clean one is written.
SequenceLayout noisy_piece(int64_t index, const ChunkGrid& grid, int64_t visible_clean = -1);
SequenceLayout clean_piece(int64_t index, const ChunkGrid& grid, int64_t visible_clean = -1);

/// Throws a sentence unless x is [B, T, M] with the tokens of the layout.
void check_tokens(const at::Tensor& x, const SequenceLayout& layout);

/// What full attention sees in this layout: all tokens that are remembered before the stretch of a token (in
/// a set: all that are written), and the keys of its window; where that slides, all tokens of the stretch
/// up to the token itself. `kept` tokens that a state remembers stand right before the layout's.
ops::Window full_window(const SequenceLayout& layout, int64_t kept = 0);

/// The union of the schedule's and the window's masks, bool [T, T]; for a layout of a whole sequence.
at::Tensor layout_mask(const SequenceLayout& layout);

/// What a token knows through a state that changes with every token, bool [T, T]; for a layout of a whole
/// sequence. Of a set it knows all, which takes passages in both directions.
at::Tensor recurrence_mask(const SequenceLayout& layout);

}  // namespace lact
