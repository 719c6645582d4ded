#include "lact/ops/dispatch/limits.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "lact/kernels/limits.h"
#include "lact/ops/dispatch/work_items.h"

namespace lact::ops {

namespace {

using Clock = std::chrono::steady_clock;

/// No processor runs faster than this; a figure above it is a mistake of the clock.
constexpr double kFastestClock = 7e9;

std::vector<int> allowed_cores() {
  std::vector<int> cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

/// On a busy machine two threads may share a core for a while, and the other core would not be measured.
void stay_on(std::thread& thread, int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  pthread_setaffinity_np(thread.native_handle(), sizeof(set), &set);
}

/// Seconds of bursts in which every thread runs `work(thread)` once. The threads wait for each other before
/// each burst, so that none has the machine for itself.
std::vector<double> burst_seconds(int64_t threads, int bursts, const std::function<void(int64_t)>& work) {
  std::vector<std::vector<std::pair<Clock::time_point, Clock::time_point>>> times{
      size_t(threads), std::vector<std::pair<Clock::time_point, Clock::time_point>>(size_t(bursts))};
  std::atomic<int64_t> arrived = 0;
  const auto run = [&](int64_t thread) {
    for (int burst = 0; burst < bursts; ++burst) {
      ++arrived;
      while (arrived < threads * (burst + 1)) std::this_thread::yield();
      auto& [begin, end] = times[size_t(thread)][size_t(burst)];
      begin = Clock::now();
      work(thread);
      end = Clock::now();
    }
  };
  std::vector<std::thread> all;
  const std::vector<int> cores = allowed_cores();
  for (int64_t thread = 0; thread < threads; ++thread) {
    all.emplace_back(run, thread);
    if (int64_t(cores.size()) >= threads) stay_on(all.back(), cores[size_t(thread)]);
  }
  for (auto& thread : all) thread.join();

  std::vector<double> seconds;
  for (size_t burst = 0; burst < size_t(bursts); ++burst) {
    auto [begin, end] = times[0][burst];
    for (const auto& thread : times) {
      begin = std::min(begin, thread[burst].first);
      end = std::max(end, thread[burst].second);
    }
    seconds.push_back(std::chrono::duration<double>(end - begin).count());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

double best_rate(kernels::RegisterLoop loop, int64_t most_per_cycle) {
  constexpr int64_t kRounds = 4000;
  constexpr int kBursts = 600, kSink = 64;
  const int64_t threads = num_workers();
  std::vector<std::vector<float>> sinks(size_t(threads), std::vector<float>(kSink, 0.5f));
  int64_t operations = 0;
  const auto seconds = burst_seconds(threads, kBursts, [&](int64_t thread) {
    const int64_t done = loop(kRounds, sinks[size_t(thread)].data());
    if (thread == 0) operations = done;
  });
  const double total = double(operations * threads);
  const double impossible = double(most_per_cycle * threads) * kFastestClock;
  for (const double time : seconds) {
    if (time > 0 && total / time < impossible) return total / time;
  }
  return 0;
}

int64_t usual_bytes() {
  constexpr int64_t kLeast = int64_t(256) << 20;
  const int64_t cache = std::max<int64_t>(0, sysconf(_SC_LEVEL3_CACHE_SIZE));
  return std::max(kLeast, 4 * cache);
}

/// `stream(thread, first float, floats)` over equal shares of a buffer of `bytes`.
double bandwidth(int64_t bytes, double moved_per_byte,
                 const std::function<void(int64_t, int64_t, int64_t)>& stream) {
  constexpr int kBursts = 30;
  const int64_t threads = num_workers(), share = bytes / 4 / threads / 256 * 256;
  const auto seconds =
      burst_seconds(threads, kBursts, [&](int64_t thread) { stream(thread, thread * share, share); });
  return moved_per_byte * double(share * 4 * threads) / seconds[seconds.size() / 10];
}

}  // namespace

std::optional<double> register_peak(Instruction instruction) {
  const auto& table = kernels::limits_kernels();
  switch (instruction) {
    case Instruction::f32:
      return best_rate(table.f32, table.most_f32);
    case Instruction::bf16:
      return table.bf16 == nullptr ? std::nullopt : std::optional(best_rate(table.bf16, table.most_bf16));
    case Instruction::int8:
      break;
  }
  return table.int8 == nullptr ? std::nullopt : std::optional(best_rate(table.int8, table.most_int8));
}

double read_bandwidth(int64_t bytes) {
  bytes = bytes > 0 ? bytes : usual_bytes();
  // Written once: untouched pages would all be the same page of zeros.
  const std::vector<float> buffer(size_t(bytes) / 4, 1.f);
  std::vector<float> sums(size_t(num_workers()), 0.f);
  const auto& table = kernels::limits_kernels();
  return bandwidth(bytes, 1, [&](int64_t thread, int64_t first, int64_t count) {
    sums[size_t(thread)] = table.read(buffer.data() + first, count);
  });
}

double copy_bandwidth(int64_t bytes) {
  bytes = (bytes > 0 ? bytes : usual_bytes()) / 2;
  const std::vector<float> from(size_t(bytes) / 4, 1.f);
  std::vector<float> to(size_t(bytes) / 4, 2.f);
  const auto& table = kernels::limits_kernels();
  return bandwidth(bytes, 2, [&](int64_t /*thread*/, int64_t first, int64_t count) {
    table.copy(to.data() + first, from.data() + first, count);
  });
}

MachineLimits machine_limits(bool brief) {
  const int64_t bytes = brief ? int64_t(16) << 20 : 0;
  MachineLimits limits;
  limits.threads = num_workers();
  limits.f32 = register_peak(Instruction::f32).value_or(0);
  limits.bf16 = register_peak(Instruction::bf16);
  limits.int8 = register_peak(Instruction::int8);
  limits.read = read_bandwidth(bytes);
  limits.copy = copy_bandwidth(bytes);
  return limits;
}

}  // namespace lact::ops
