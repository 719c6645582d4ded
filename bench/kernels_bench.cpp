// The pieces below the operations: loops from registers, streams through memory, small matrix products.
#include <benchmark/benchmark.h>

#include <vector>

#include "lact/kernels/limits.h"
#include "lact/kernels/small_matmul.h"

namespace lact::kernels {
namespace {

void registers(benchmark::State& state, RegisterLoop loop) {
  std::vector<float> sink(64, 0.5f);
  int64_t operations = 0;
  for (auto _ : state) operations += loop(1000, sink.data());
  benchmark::DoNotOptimize(sink.data());
  state.counters["op/s"] = benchmark::Counter(double(operations), benchmark::Counter::kIsRate);
}

void read(benchmark::State& state) {
  const int64_t floats = state.range(0) / 4;
  const std::vector<float> from(size_t(floats), 1.f);
  for (auto _ : state) benchmark::DoNotOptimize(limits_kernels().read(from.data(), floats));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void matmul(benchmark::State& state) {
  const int64_t n = state.range(0);
  const std::vector<float> a(size_t(n * n), 0.5f), b(size_t(n * n), 0.25f);
  std::vector<float> c(size_t(n * n));
  for (auto _ : state) {
    small_matmul(a.data(), b.data(), c.data(), n, n, n, 1, 0);
    benchmark::DoNotOptimize(c.data());
  }
  state.counters["flop/s"] =
      benchmark::Counter(2.0 * double(n * n * n), benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace
}  // namespace lact::kernels

int main(int argc, char** argv) {
  using namespace lact::kernels;
  const auto& table = limits_kernels();
  benchmark::RegisterBenchmark("registers/f32", registers, table.f32);
  if (table.bf16 != nullptr) benchmark::RegisterBenchmark("registers/bf16", registers, table.bf16);
  if (table.int8 != nullptr) benchmark::RegisterBenchmark("registers/int8", registers, table.int8);
  benchmark::RegisterBenchmark("read", read)->Arg(1 << 15)->Arg(1 << 19)->Arg(1 << 23)->Arg(1 << 28);
  benchmark::RegisterBenchmark("small_matmul", matmul)->Arg(32)->Arg(64)->Arg(128)->Arg(256);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
