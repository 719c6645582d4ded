#include "lact/ttt/head_run.h"

#include <ATen/ATen.h>

#include "lact/ops/dispatch/work_items.h"

namespace lact::ttt::heads {

using fused::ChunkStep;

at::Tensor HeadRun::new_versions() const {
  const int64_t slots = (plan_.num_versions + plan_.segment - 1) / plan_.segment + 1;
  return at::empty({task_.q.heads(), slots, task_.state_size}, at::kFloat);
}

void HeadRun::forward(const at::Tensor& out, const HeadMatrices& behind, const at::Tensor& versions) const {
  const HeadTokens outputs(out);
  ops::for_each_item(task_.q.heads(), [&](int64_t head, int64_t) {
    HeadWorker worker(task_, head);
    float* state = worker.zeros(task_.state_size);
    worker.read(task_.matrices.weights, state);
    if (plan_.rule.momentum) worker.read(task_.matrices.momentum, worker.momentum(state));
    const auto keep = [&](int64_t version) {
      if (versions.defined() && is_kept(version)) {
        std::copy_n(state, task_.state_size, kept(versions, head, version));
      }
    };
    size_t loaded = 1;
    keep(0);
    for (const auto& chunk : plan_.steps) {
      if (loaded != chunk.version) worker.passes().load(state, false), loaded = chunk.version;
      for_each_block(chunk.read, [&](int64_t token, int64_t rows) {
        worker.passes().read(task_.q.rows(head, token), rows, output(outputs, head, token));
      });
      if (chunk.written.empty()) continue;
      worker.write_chunk(chunk, state, state);
      keep(int64_t(chunk.version) + 1);
    }
    worker.write(state, behind.weights);
    if (plan_.rule.momentum) worker.write(worker.momentum(state), behind.momentum);
  });
}

void HeadRun::backward(const at::Tensor& out_gradient, const at::Tensor& versions,
                       const HeadGradients& gradients) const {
  std::vector<const ChunkStep*> writes;
  for (const auto& chunk : plan_.steps) {
    if (!chunk.written.empty()) writes.push_back(&chunk);
  }
  const HeadTokens outputs = out_gradient.defined() ? HeadTokens(out_gradient) : HeadTokens();
  const HeadTokens q(gradients.q), k(gradients.k), v(gradients.v);
  ops::for_each_item(task_.q.heads(), [&](int64_t head, int64_t) {
    HeadWorker worker(task_, head);
    float* weights = worker.zeros(task_.weights_size);
    float* momenta = plan_.rule.momentum ? worker.zeros(task_.weights_size) : nullptr;
    worker.read(gradients.matrices.weights, weights);
    if (momenta) worker.read(gradients.matrices.momentum, momenta);

    // Versions between two that are kept are made again, a segment at a time.
    float* made_again = worker.zeros((plan_.segment - 1) * task_.state_size);
    const auto state_of = [&](int64_t version) {
      if (is_kept(version)) return kept(versions, head, version);
      return made_again + (version % plan_.segment - 1) * task_.state_size;
    };
    int64_t segment = -1, loaded = -1;
    const auto load = [&](int64_t version) {
      if (version / plan_.segment != segment) {
        segment = version / plan_.segment;
        for (int64_t i = segment * plan_.segment; !is_kept(i + 1) && i < plan_.num_versions; ++i) {
          worker.passes().load(state_of(i), false);
          worker.write_chunk(*writes[size_t(i)], state_of(i), state_of(i + 1));
        }
      }
      if (loaded != version) worker.passes().load(state_of(version), true), loaded = version;
    };
    for (auto chunk = plan_.steps.rbegin(); chunk != plan_.steps.rend(); ++chunk) {
      const auto version = int64_t(chunk->version);
      load(version);
      if (!chunk->written.empty()) {
        worker.write_chunk_backward(*chunk, state_of(version), state_of(version + 1), weights, momenta,
                                    gradients, k, v);
      }
      if (!out_gradient.defined()) continue;
      for_each_block(chunk->read, [&](int64_t token, int64_t rows) {
        worker.passes().read_backward(task_.q.rows(head, token), outputs.rows(head, token), rows,
                                      output(q, head, token), weights);
      });
    }
    worker.write(weights, gradients.matrices.weights);
    if (momenta) worker.write(momenta, gradients.matrices.momentum);
  });
}

}  // namespace lact::ttt::heads
