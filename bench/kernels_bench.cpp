// The pieces below the operations: loops from registers, streams through memory, packed matrix products.
#include <benchmark/benchmark.h>

#include <vector>

#include "lact/kernels/limits.h"
#include "lact/kernels/products.h"

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

/// 448 rows, in tile form, times one panel of 32 columns.
void product(benchmark::State& state) {
  constexpr int64_t kRows = 448;
  const int64_t depth = state.range(0);
  const std::vector<uint32_t> tiles(size_t(tile_form_words(Packing::singles, kRows, depth)));
  const std::vector<uint32_t> panel(size_t(panel_form_words(Packing::singles, depth, 32)));
  std::vector<float> c(kRows * 32);
  for (auto _ : state) {
    products_kernels().panel_product(Packing::singles, tiles.data(), panel.data(), depth, kRows,
                                     {c.data(), 32});
    benchmark::DoNotOptimize(c.data());
  }
  state.counters["flop/s"] =
      benchmark::Counter(2.0 * double(kRows * depth * 32), benchmark::Counter::kIsIterationInvariantRate);
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
  benchmark::RegisterBenchmark("product", product)->Arg(64)->Arg(256)->Arg(768)->Arg(1536);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
