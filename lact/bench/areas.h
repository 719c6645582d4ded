// What `lact bench` can measure, one file each.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lact/bench/session.h"
#include "lact/models/lm/model.h"

namespace lact::bench {

/// Takes one training step on ids [1, T + 1]: forward, loss, backward, optimizer. Made by the caller, who
/// knows an optimizer.
using TrainStep = std::function<void(const at::Tensor& ids)>;
using MakeTrainStep = std::function<TrainStep(std::shared_ptr<models::LanguageModel> model)>;

void bench_ttt(Session& session);
void bench_newton_schulz(Session& session);
void bench_attention(Session& session);
void bench_recurrences(Session& session);
void bench_splat(Session& session);
void bench_lm(Session& session, const MakeTrainStep& make_step);
void bench_decode(Session& session);
void bench_serve(Session& session);
void bench_nvs(Session& session);
void bench_video(Session& session);
void bench_views(Session& session);
void bench_chunks(Session& session);
void bench_states(Session& session);
void bench_mixers(Session& session);
void bench_million(Session& session);
void bench_plan(Session& session);
void bench_parallel(Session& session);
/// A process that bench_parallel starts: does what comes along the socket.
void run_parallel_rank(int socket, bool quick);
void bench_profile(Session& session, const MakeTrainStep& make_step);

}  // namespace lact::bench
