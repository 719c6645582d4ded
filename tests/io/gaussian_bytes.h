// Gaussians made of a seed, and .ply files written by hand.
#pragma once

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "lact/ops/splat/gaussians.h"

namespace lact::testing {

inline ops::Gaussians gaussians_of(int64_t count, int64_t coefficients, uint64_t seed = 1) {
  at::manual_seed(seed);
  return {at::randn({count, 3}), at::randn({count, 4}), at::randn({count, 3}) - 3, at::randn({count}),
          0.5 * at::randn({count, coefficients, 3})};
}

struct HandProperty {
  std::string type, name;
  std::function<double(int64_t)> value;
};

/// Without normals.
inline std::vector<HandProperty> plain_properties(const ops::Gaussians& gaussians) {
  std::vector<HandProperty> properties;
  const auto add = [&](const std::string& name, const at::Tensor& column) {
    properties.push_back({"float", name, [=](int64_t i) { return double(column[i].item<float>()); }});
  };
  const char* axes[] = {"x", "y", "z"};
  for (int i = 0; i < 3; ++i) add(axes[i], gaussians.means.select(1, i));
  for (int i = 0; i < 3; ++i) add(fmt::format("f_dc_{}", i), gaussians.harmonics.select(1, 0).select(1, i));
  const int64_t others = gaussians.harmonics.size(1) - 1;
  for (int64_t channel = 0; channel < 3; ++channel)
    for (int64_t k = 0; k < others; ++k)
      add(fmt::format("f_rest_{}", channel * others + k),
          gaussians.harmonics.select(1, k + 1).select(1, channel));
  add("opacity", gaussians.opacity_logits);
  for (int i = 0; i < 3; ++i) add(fmt::format("scale_{}", i), gaussians.log_scales.select(1, i));
  for (int i = 0; i < 4; ++i) add(fmt::format("rot_{}", i), gaussians.quaternions.select(1, i));
  return properties;
}

/// One number of a .ply file.
inline std::string ply_number(const std::string& format, const std::string& type, double value) {
  if (format == "ascii") return fmt::format("{:.17g} ", value);
  const auto raw = [&](auto number) {
    std::string bytes(reinterpret_cast<const char*>(&number), sizeof(number));
    if (format == "binary_big_endian") std::reverse(bytes.begin(), bytes.end());
    return bytes;
  };
  if (type == "uchar") return raw(uint8_t(value));
  if (type == "short") return raw(int16_t(value));
  if (type == "uint") return raw(uint32_t(value));
  return type == "double" ? raw(value) : raw(float(value));
}

inline std::string ply_element(const std::string& name, int64_t count,
                               const std::vector<HandProperty>& properties) {
  std::string head = fmt::format("element {} {}\n", name, count);
  for (const auto& property : properties)
    head += fmt::format("property {} {}\n", property.type, property.name);
  return head;
}

inline std::string ply_rows(const std::string& format, int64_t count,
                            const std::vector<HandProperty>& properties) {
  std::string rows;
  for (int64_t i = 0; i < count; ++i)
    for (const auto& property : properties) rows += ply_number(format, property.type, property.value(i));
  return rows;
}

/// A file of vertices.
inline std::string ply_of(const std::string& format, int64_t count,
                          const std::vector<HandProperty>& properties) {
  return fmt::format("ply\nformat {} 1.0\n{}end_header\n{}", format, ply_element("vertex", count, properties),
                     ply_rows(format, count, properties));
}

}  // namespace lact::testing
