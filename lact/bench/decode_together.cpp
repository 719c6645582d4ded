// Several texts that are written at once. The weights are read once for all of them; fast weights and window
// are each text's own, which limits what is won.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include "lact/base/log.h"
#include "lact/bench/decode.h"
#include "lact/bench/work.h"
#include "lact/tasks/lm/engine/batches.h"

namespace lact::bench {

namespace {

/// Texts at one depth, and what each reads next.
struct Texts {
  std::vector<models::LmStream> streams;
  std::vector<int64_t> next;

  Texts(const models::LmStream& beginning, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      streams.push_back(beginning.fork());
      next.push_back(i);  // from here on each goes its own way
    }
  }

  /// Every text reads its token and draws the next; returns the logits.
  at::Tensor step() {
    std::vector<models::StreamPiece> pieces;
    for (size_t i = 0; i < streams.size(); ++i) pieces.push_back({&streams[i], {&next[i], 1}});
    tasks::lm::read_in_batches(pieces);
    std::vector<at::Tensor> rows;
    for (const auto& piece : pieces) {
      if (piece.failure) std::rethrow_exception(piece.failure);
      rows.push_back(piece.hidden);
    }
    const at::Tensor logits = tasks::lm::logits_in_batches(streams.front().model(), rows);
    const at::Tensor likeliest = logits.argmax(1);
    for (size_t i = 0; i < next.size(); ++i) next[i] = likeliest[int64_t(i)].item<int64_t>();
    return logits;
  }
};

/// Of all texts together against each alone: nothing, since sums are added up in the same order.
double difference_from_alone(const models::LmStream& beginning, int64_t count) {
  Texts together(beginning, count);
  std::vector<Texts> alone;
  for (int64_t i = 0; i < count; ++i) {
    alone.emplace_back(beginning, 1);
    alone.back().next = {i};
  }
  double worst = 0;
  for (int step = 0; step < 2; ++step) {
    const at::Tensor found = together.step();
    for (int64_t i = 0; i < count; ++i) {
      worst = std::max(worst, largest_error({found[i]}, {alone[size_t(i)].step()[0]}));
    }
  }
  return worst;
}

}  // namespace

void measure_together(Session& session, const NamedConfig& named, const DecodeFormat& format,
                      const std::shared_ptr<models::LanguageModel>& model,
                      const std::vector<int64_t>& depths) {
  const models::LmConfig& config = named.config;
  const int64_t steps = session.quick() ? 2 : 8;
  for (const int64_t depth : depths) {
    models::LmStream beginning(model);
    const at::Tensor ids = random_ids(config, std::max<int64_t>(1, depth));
    if (depth >= config.chunk_size) log::info("reading {} tokens", depth);
    beginning.read({ids.data_ptr<int64_t>(), size_t(depth)});
    std::optional<double> one;
    for (const int64_t count : {1, 2, 4, 8}) {
      Trial trial;
      trial.row = {"decode",
                   fmt::format("{} depth {}, {} text{}", named.name, depth, count, count == 1 ? "" : "s"),
                   format.name + " weights", "decode together", format.name};
      trial.error = [&] { return difference_from_alone(beginning, count); };
      Texts texts(beginning, count);
      trial.run = [&] {
        for (int64_t i = 0; i < steps; ++i) texts.step();
      };
      trial.count = double(steps * count);
      const auto bytes = [&](int64_t together) {
        return decode_bytes(config, depth, format.bytes_per_weight, format.bytes_per_kept(config), together);
      };
      trial.work = bytes(count);
      trial.limit = session.machine().limits.read;
      const Result row = session.measure(trial);
      if (!row.seconds) continue;
      if (count == 1) one = row.seconds;
      session.note(fmt::format("{:.1f} tokens/s of all texts", 1 / *row.seconds));
      if (count > 1 && one) {
        session.note(fmt::format("{:.2f} times that of one; {:.2f} fewer bytes", *one / *row.seconds,
                                 bytes(1) / bytes(count)));
      }
    }
  }
}

}  // namespace lact::bench
