#include "lact/io/packed_gaussians.h"

#include <ATen/ATen.h>

#include <limits>

#include "lact/base/error.h"
#include "lact/io/gaussian_columns.h"
#include "lact/io/packed_bits.h"

namespace lact::io {

namespace {

using namespace packed;

/// Whole numbers of one type: [count, properties].
template <class Number>
std::vector<Number> read_whole_rows(PlyValues& values, const PlyElement& element,
                                    const std::vector<int>& wanted) {
  std::vector<int> place(element.properties.size(), -1);
  for (size_t i = 0; i < wanted.size(); ++i) place[size_t(wanted[i])] = int(i);
  std::vector<Number> rows(size_t(element.count) * wanted.size());
  for (size_t row = 0; row < element.count; ++row) {
    for (size_t k = 0; k < place.size(); ++k) {
      const PlyProperty& property = element.properties[k];
      if (place[k] < 0) {
        values.skip(property);
      } else {
        rows[row * wanted.size() + size_t(place[k])] =
            Number(values.whole(property.type, property.name, std::numeric_limits<Number>::max()));
      }
    }
  }
  return rows;
}

struct PackedLayout {
  const PlyElement *chunks, *vertices, *harmonics;
  std::vector<int> bounds, packed, rest;
  int64_t coefficients = 1;
};

/// Checks everything that there is to check before memory is taken.
PackedLayout packed_layout(const std::string& path, const PlyHeader& header) {
  PackedLayout layout = {header.find("chunk"), header.find("vertex"), header.find("sh"), {}, {}, {}};
  LACT_CHECK(layout.chunks != nullptr, "{}: its Gaussians are packed, but there is no element chunk", path);
  const auto place = [&](const PlyElement& element, const char* name, bool right) {
    const int found = element.find(name);
    LACT_CHECK(found >= 0 && !element.properties[size_t(found)].list && right,
               "{}: element {} has no property {} of the type that packed Gaussians have", path, element.name,
               name);
    return found;
  };
  const auto type = [](const PlyElement& element, const char* name) {
    const int found = element.find(name);
    return found < 0 ? PlyType::int8 : element.properties[size_t(found)].type;
  };
  // Older files have no bounds of colours.
  const size_t bounds = layout.chunks->find("min_r") < 0 ? 12 : kBoundNames.size();
  for (size_t i = 0; i < bounds; ++i) layout.bounds.push_back(place(*layout.chunks, kBoundNames[i], true));
  for (const char* name : kPackedNames)
    layout.packed.push_back(place(*layout.vertices, name, type(*layout.vertices, name) == PlyType::uint32));
  const uint64_t count = layout.vertices->count, chunks = (count + kChunk - 1) / kChunk;
  LACT_CHECK(count > 0, "{}: holds no Gaussians", path);
  LACT_CHECK(layout.chunks->count == chunks, "{}: has {} chunks, expected {} for {} Gaussians", path,
             layout.chunks->count, chunks, count);
  if (layout.harmonics != nullptr) {
    layout.coefficients = count_coefficients(path, *layout.harmonics, layout.rest);
    for (const int k : layout.rest)
      LACT_CHECK(layout.harmonics->properties[size_t(k)].type == PlyType::uint8 &&
                     !layout.harmonics->properties[size_t(k)].list,
                 "{}: the property {} is not uchar", path, layout.harmonics->properties[size_t(k)].name);
    LACT_CHECK(layout.harmonics->count == count, "{}: has {} elements sh for {} Gaussians", path,
               layout.harmonics->count, count);
  }
  return layout;
}

}  // namespace

bool holds_packed_gaussians(const PlyHeader& header) {
  const PlyElement* vertices = header.find("vertex");
  return vertices != nullptr && vertices->find(kPackedNames[0]) >= 0;
}

ops::Gaussians read_packed_gaussians(const std::string& path, const PlyHeader& header, PlyValues& values) {
  const PackedLayout layout = packed_layout(path, header);
  const size_t bounds = layout.bounds.size();
  std::vector<float> chunks(size_t(layout.chunks->count) * bounds);
  std::vector<PlyColumn> columns(layout.chunks->properties.size());
  for (size_t i = 0; i < bounds; ++i)
    columns[size_t(layout.bounds[i])] = {chunks.data() + i, int64_t(bounds)};
  std::vector<uint32_t> packed;
  std::vector<uint8_t> rest;
  for (const PlyElement& element : header.elements) {
    if (&element == layout.chunks) {
      values.read(element, columns);
    } else if (&element == layout.vertices) {
      packed = read_whole_rows<uint32_t>(values, element, layout.packed);
    } else if (&element == layout.harmonics) {
      rest = read_whole_rows<uint8_t>(values, element, layout.rest);
    } else {
      values.skip(element);
    }
  }
  const auto count = int64_t(layout.vertices->count), coefficients = layout.coefficients;
  ops::Gaussians gaussians = {at::empty({count, 3}), at::empty({count, 4}), at::empty({count, 3}),
                              at::empty({count}), at::empty({count, coefficients, 3})};
  auto* means = gaussians.means.data_ptr<float>();
  auto* quaternions = gaussians.quaternions.data_ptr<float>();
  auto* scales = gaussians.log_scales.data_ptr<float>();
  auto* logits = gaussians.opacity_logits.data_ptr<float>();
  auto* harmonics = gaussians.harmonics.data_ptr<float>();
  const int64_t others = 3 * (coefficients - 1);
  for (int64_t i = 0; i < count; ++i) {
    const float* chunk = chunks.data() + size_t(i / kChunk) * bounds;
    const uint32_t* words = packed.data() + 4 * i;
    const auto bounds_at = [&](size_t first) {
      return Bounds{{chunk[first], chunk[first + 1], chunk[first + 2]},
                    {chunk[first + 3], chunk[first + 4], chunk[first + 5]}};
    };
    const Triple place = unpack_triple(words[0]), scale = unpack_triple(words[2]);
    const auto rotation = unpack_rotation(words[1]);
    std::copy(rotation.begin(), rotation.end(), quaternions + 4 * i);
    const Bounds colours = bounds > 12 ? bounds_at(12) : Bounds{{0, 0, 0}, {1, 1, 1}};
    float* of_one = harmonics + i * 3 * coefficients;
    for (size_t axis = 0; axis < 3; ++axis) {
      means[3 * i + int64_t(axis)] = float(within(bounds_at(0), axis, place[axis]));
      scales[3 * i + int64_t(axis)] = float(within(bounds_at(6), axis, scale[axis]));
      const double colour = within(colours, axis, share_of_bits(words[3], 24 - 8 * int(axis), 8));
      of_one[axis] = float((colour - 0.5) / kFirstHarmonic);
    }
    const double opacity = share_of_bits(words[3], 0, 8);
    logits[i] = float(std::clamp(std::log(opacity / (1 - opacity)), -kLargestLogit, kLargestLogit));
    for (int64_t k = 0; k < others; ++k)
      of_one[place_of_rest(k, coefficients)] = float(unpack_harmonic(rest[size_t(i * others + k)]));
  }
  return gaussians;
}

}  // namespace lact::io
