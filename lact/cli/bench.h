// What the verbs of `lact bench` share.
#pragma once

#include <string>

#include "lact/bench/areas.h"

namespace lact::cli {

struct BenchArguments {
  bench::BenchOptions options;
  bool json = false, no_peers = false;
  std::string output, record;
};

/// Forward, loss, backward, clipping and AdamW, as `lact lm train` does them.
bench::TrainStep make_train_step(const std::shared_ptr<models::LanguageModel>& model);

/// Makes the folders of the files that are to be written.
void make_places(const BenchArguments& arguments);

/// Writes what was measured so far to --record.
void record(const bench::Session& session, const BenchArguments& arguments);

/// Prints what was measured, and draws the plots.
void report(const bench::Session& session, const BenchArguments& arguments);

}  // namespace lact::cli
