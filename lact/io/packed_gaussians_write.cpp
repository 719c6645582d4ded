#include <ATen/ATen.h>

#include <limits>
#include <numeric>

#include "lact/base/error.h"
#include "lact/io/gaussian_columns.h"
#include "lact/io/packed_bits.h"
#include "lact/io/packed_gaussians.h"

namespace lact::io {

namespace {

using namespace packed;

/// Along a curve that keeps neighbours together: bits of x, y and z by turns.
std::vector<int64_t> morton_order(const float* means, int64_t count) {
  Triple low, high;
  low.fill(std::numeric_limits<double>::max());
  high.fill(std::numeric_limits<double>::lowest());
  for (int64_t i = 0; i < 3 * count; ++i) {
    low[size_t(i % 3)] = std::min(low[size_t(i % 3)], double(means[i]));
    high[size_t(i % 3)] = std::max(high[size_t(i % 3)], double(means[i]));
  }
  const Bounds bounds = {low, high};
  std::vector<uint64_t> codes(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    for (size_t axis = 0; axis < 3; ++axis) {
      const uint64_t place = bits_of_share(share_within(bounds, axis, means[3 * i + int64_t(axis)]), 21);
      for (int bit = 0; bit < 21; ++bit) codes[size_t(i)] |= (place >> bit & 1) << (3 * bit + int(axis));
    }
  }
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return codes[size_t(a)] < codes[size_t(b)]; });
  return order;
}

std::string packed_head(int64_t count, int64_t coefficients) {
  std::string head =
      fmt::format("ply\nformat binary_little_endian 1.0\nelement chunk {}\n", (count + kChunk - 1) / kChunk);
  for (const char* name : kBoundNames) head += fmt::format("property float {}\n", name);
  head += fmt::format("element vertex {}\n", count);
  for (const char* name : kPackedNames) head += fmt::format("property uint {}\n", name);
  if (coefficients > 1) head += fmt::format("element sh {}\n", count);
  for (int64_t i = 0; i < 3 * (coefficients - 1); ++i) head += fmt::format("property uchar f_rest_{}\n", i);
  return head + "end_header\n";
}

/// What is packed between bounds, of one Gaussian.
std::array<Triple, 3> bounded_values(const ops::Gaussians& gaussians, int64_t i) {
  const float* mean = gaussians.means.data_ptr<float>() + 3 * i;
  const float* scale = gaussians.log_scales.data_ptr<float>() + 3 * i;
  const float* colour = gaussians.harmonics.data_ptr<float>() + 3 * gaussians.harmonics.size(1) * i;
  std::array<Triple, 3> values{};
  for (size_t axis = 0; axis < 3; ++axis) {
    values[0][axis] = mean[axis];
    values[1][axis] = std::clamp(double(scale[axis]), -20.0, 20.0);
    values[2][axis] = 0.5 + kFirstHarmonic * colour[axis];
  }
  return values;
}

ChunkBounds bounds_of(const ops::Gaussians& gaussians, const std::vector<int64_t>& order, size_t begin,
                      size_t end) {
  ChunkBounds bounds{};
  for (size_t row = begin; row < end; ++row) {
    const auto values = bounded_values(gaussians, order[row]);
    for (size_t kind = 0; kind < 3; ++kind) {
      for (size_t axis = 0; axis < 3; ++axis) {
        // As the file will have them: float32
        const double value = float(values[kind][axis]);
        double &low = bounds[kind].low[axis], &high = bounds[kind].high[axis];
        low = row == begin ? value : std::min(low, value);
        high = row == begin ? value : std::max(high, value);
      }
    }
  }
  return bounds;
}

std::array<uint32_t, 4> pack_gaussian(const ops::Gaussians& gaussians, int64_t i, const ChunkBounds& bounds) {
  const auto values = bounded_values(gaussians, i);
  std::array<Triple, 3> shares{};
  for (size_t kind = 0; kind < 3; ++kind)
    for (size_t axis = 0; axis < 3; ++axis)
      shares[kind][axis] = share_within(bounds[kind], axis, values[kind][axis]);
  const double opacity = 1 / (1 + std::exp(-double(gaussians.opacity_logits.data_ptr<float>()[i])));
  uint32_t colour = 0;
  for (const double share : {shares[2][0], shares[2][1], shares[2][2], opacity})
    colour = colour << 8 | bits_of_share(share, 8);
  return {pack_triple(shares[0]), pack_rotation(gaussians.quaternions.data_ptr<float>() + 4 * i),
          pack_triple(shares[1]), colour};
}

}  // namespace

void write_packed_gaussians(FileWriter& file, const ops::Gaussians& gaussians) {
  const int64_t count = gaussians.size(), coefficients = gaussians.harmonics.size(1);
  const std::vector<int64_t> order = morton_order(gaussians.means.data_ptr<float>(), count);
  file.write(packed_head(count, coefficients));
  std::vector<uint32_t> packed;
  for (size_t begin = 0; begin < order.size(); begin += kChunk) {
    const size_t end = std::min(begin + kChunk, order.size());
    const ChunkBounds bounds = bounds_of(gaussians, order, begin, end);
    std::vector<float> numbers;
    for (const Bounds& one : bounds) {
      numbers.insert(numbers.end(), one.low.begin(), one.low.end());
      numbers.insert(numbers.end(), one.high.begin(), one.high.end());
    }
    file.write(numbers.data(), numbers.size() * sizeof(float));
    for (size_t row = begin; row < end; ++row) {
      const auto words = pack_gaussian(gaussians, order[row], bounds);
      packed.insert(packed.end(), words.begin(), words.end());
    }
  }
  file.write(packed.data(), packed.size() * sizeof(uint32_t));
  if (coefficients == 1) return;
  std::vector<uint8_t> rest;
  const auto* harmonics = gaussians.harmonics.data_ptr<float>();
  for (const int64_t i : order) {
    rest.clear();
    for (int64_t k = 0; k < 3 * (coefficients - 1); ++k)
      rest.push_back(pack_harmonic(harmonics[i * 3 * coefficients + place_of_rest(k, coefficients)]));
    file.write(rest.data(), rest.size());
  }
}

}  // namespace lact::io
