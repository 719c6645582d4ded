// The options of verbs that several processes run together.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "lact/parallel/world.h"

namespace lact::cli {

struct RankOptions {
  std::string mesh;
  double timeout = 600;
};

void add_rank_options(CLI::App& verb, RankOptions& ranks);

/// What processes share: the batches of a training, or the tokens of the one sequence that there is.
enum class Shared { batches, sequence };

/// Meets the other processes that a launcher has started with this one; alone without them.
parallel::World join_ranks(const RankOptions& ranks, Shared shared = Shared::batches);

}  // namespace lact::cli
