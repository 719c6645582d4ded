#include "lact/bench/work.h"

#include <algorithm>

namespace lact::bench {

namespace {

/// Those that multiply something: no biases and no norms.
std::vector<ttt::MatrixShape> matrices_of(const TttShape& shape) {
  std::vector<ttt::MatrixShape> matrices;
  for (const auto& matrix : shape.fast_weights().matrices(shape.width, shape.hidden, shape.width)) {
    if (!matrix.initial) matrices.push_back(matrix);
  }
  return matrices;
}

double newton_schulz_of_scan(const TttShape& shape, Pass pass) {
  if (!shape.muon) return 0;
  const double updates = double((shape.tokens + shape.chunk - 1) / shape.chunk);
  double work = 0;
  for (const auto& matrix : matrices_of(shape)) {
    work += newton_schulz_work(matrix.out, matrix.in, shape.newton_schulz_steps, pass);
  }
  return double(shape.heads) * updates * work;
}

}  // namespace

double newton_schulz_work(int64_t rows, int64_t cols, int64_t steps, Pass pass) {
  const auto m = double(std::min(rows, cols)), n = double(std::max(rows, cols));
  const double forward = 3 * m * m * n + m * m * m;
  return double(steps) * (pass == Pass::forward ? 1 : 3) * forward;
}

double ttt_token_work(const TttShape& shape, Pass pass) {
  double elements = 0;
  for (const auto& matrix : matrices_of(shape)) elements += double(matrix.out * matrix.in);
  const double forward = 2 * (1 + shape.fast_weights().descent_passes()) * elements;
  return (pass == Pass::forward ? 1 : 3) * forward * double(shape.heads) * double(shape.tokens);
}

double ttt_work(const TttShape& shape, Pass pass, bool recompute) {
  double work = ttt_token_work(shape, pass) + newton_schulz_of_scan(shape, pass);
  if (recompute && pass == Pass::forward_backward) {
    work += 5 * 2 * double(shape.width * shape.hidden) * double(shape.heads * shape.tokens) +
            newton_schulz_of_scan(shape, Pass::forward);
  }
  return work;
}

double window_pairs(int64_t tokens, int64_t window) {
  const auto all = double(tokens), width = double(std::min(tokens, window));
  return width * all - width * (width - 1) / 2;
}

double attention_work(int64_t tokens, int64_t window, int64_t heads, int64_t width, Pass pass) {
  return (pass == Pass::forward ? 2 : 7) * 2 * double(width * heads) * window_pairs(tokens, window);
}

std::map<std::string, double> lm_work(const models::LmConfig& config, int64_t tokens) {
  const models::ModelCost cost = models::cost(config, {tokens});
  // Of the keys that the last token sees, on average.
  const auto attended = [&](int64_t window) {
    return window_pairs(tokens, window) / double(tokens) / double(window);
  };
  // The last chunk is read and never written.
  const double written = double((tokens - 1) / config.chunk_size * config.chunk_size) / double(tokens);
  std::map<std::string, double> parts;
  for (const auto& blocks : cost.blocks) {
    const double layers = double(blocks.count) * double(tokens);
    for (const auto& part : blocks.parts) {
      if (part.name == "window attention") {
        parts[part.name] += layers * part.flops * attended(config.window_size);
      } else if (part.name == "full attention") {
        parts[part.name] += layers * part.flops * attended(tokens);
      } else if (part.name == "update" || part.name == "Muon") {
        parts["fast weights"] += layers * part.flops * written;
      } else if (part.name == "apply") {
        parts["fast weights"] += layers * part.flops;
      } else if (part.name == "rates and gates") {
        parts["memory preparation"] += layers * part.flops;
      } else if (part.flops > 0) {
        parts[part.name] += layers * part.flops;
      }
    }
  }
  for (const auto& part : cost.others) {
    if (part.flops > 0) parts["head and loss"] += double(tokens) * part.flops;
  }
  return parts;
}

double total(const std::map<std::string, double>& parts) {
  double sum = 0;
  for (const auto& [name, work] : parts) sum += work;
  return sum;
}

double decode_bytes(const models::LmConfig& config, int64_t depth, double bytes_per_weight,
                    double bytes_per_kept, int64_t texts) {
  const models::ModelCost cost = models::cost(config);
  double matrices = 0;  // parameters that multiply a token: two operations each
  double bytes = 0;
  for (const auto& blocks : cost.blocks) {
    for (const auto& part : blocks.parts) {
      const bool of_weights =
          part.name == "projections" || part.name == "feed-forward" || part.name == "rates and gates";
      if (of_weights) matrices += double(blocks.count) * part.flops / 2;
    }
    const int64_t seen = blocks.grows() ? depth + 1 : std::min(depth + 1, config.window_size);
    const double kept = 2 * double(seen) * double(config.model_dim);
    bytes += double(blocks.count) * (double(blocks.one().state) * 4 + kept * bytes_per_kept);
  }
  for (const auto& part : cost.others) matrices += part.flops / 2;
  return matrices * bytes_per_weight / double(texts) + bytes;
}

}  // namespace lact::bench
