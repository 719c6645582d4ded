#include "lact/io/gaussian_ply.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cctype>

#include "lact/base/error.h"
#include "lact/io/gaussian_columns.h"
#include "lact/io/mapped_file.h"
#include "lact/io/packed_gaussians.h"

namespace lact::io {

namespace {

constexpr const char* kRestName = "f_rest_";

bool ends_with_letters(const std::string& path, std::string_view ending) {
  return path.size() >= ending.size() &&
         std::equal(ending.begin(), ending.end(), path.end() - std::ptrdiff_t(ending.size()),
                    [](char wanted, char found) { return wanted == std::tolower((unsigned char)found); });
}

/// Names of the properties of Gaussians with so many coefficients, in the order of the first program's files.
std::vector<std::string> property_names(int64_t coefficients) {
  std::vector<std::string> names = {"x", "y", "z", "nx", "ny", "nz", "f_dc_0", "f_dc_1", "f_dc_2"};
  for (int64_t i = 0; i < 3 * (coefficients - 1); ++i) names.push_back(kRestName + std::to_string(i));
  names.insert(names.end(), {"opacity", "scale_0", "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3"});
  return names;
}

/// Their places in memory, in the same order; null for the normals.
std::vector<PlyColumn> property_places(const ops::Gaussians& gaussians) {
  const int64_t coefficients = gaussians.harmonics.size(1);
  const auto column = [](const at::Tensor& field, int64_t place) {
    return PlyColumn{field.data_ptr<float>() + place, field.numel() / field.size(0)};
  };
  std::vector<PlyColumn> places;
  const auto add = [&](const at::Tensor& field, int64_t count) {
    for (int64_t i = 0; i < count; ++i) places.push_back(column(field, i));
  };
  add(gaussians.means, 3);
  places.resize(6);
  add(gaussians.harmonics, 3);
  for (int64_t i = 0; i < 3 * (coefficients - 1); ++i)
    places.push_back(column(gaussians.harmonics, place_of_rest(i, coefficients)));
  add(gaussians.opacity_logits, 1);
  add(gaussians.log_scales, 3);
  add(gaussians.quaternions, 4);
  return places;
}

ops::Gaussians empty_gaussians(int64_t count, int64_t coefficients) {
  return {at::empty({count, 3}), at::empty({count, 4}), at::empty({count, 3}), at::empty({count}),
          at::empty({count, coefficients, 3})};
}

ops::Gaussians read_plain(const std::string& path, const PlyHeader& header, PlyValues& values) {
  const PlyElement* vertices = header.find("vertex");
  LACT_CHECK(vertices != nullptr, "{}: has no element vertex, expected Gaussians", path);
  std::vector<int> rest;
  const int64_t coefficients = count_coefficients(path, *vertices, rest);
  const std::vector<std::string> names = property_names(coefficients);
  std::vector<int> found;
  for (const std::string& name : names) {
    found.push_back(vertices->find(name));
    const bool normal = name[0] == 'n';
    LACT_CHECK(normal || found.back() >= 0, "{}: vertices have no property {}, expected those of Gaussians",
               path, name);
    LACT_CHECK(normal || !vertices->properties[size_t(found.back())].list,
               "{}: the property {} is a list, expected one number", path, name);
  }
  LACT_CHECK(vertices->count > 0, "{}: holds no Gaussians", path);
  ops::Gaussians gaussians = empty_gaussians(int64_t(vertices->count), coefficients);
  const std::vector<PlyColumn> places = property_places(gaussians);
  std::vector<PlyColumn> columns(vertices->properties.size());
  for (size_t i = 0; i < names.size(); ++i)
    if (places[i].to != nullptr) columns[size_t(found[i])] = places[i];
  for (const PlyElement& element : header.elements)
    &element == vertices ? values.read(element, columns) : values.skip(element);
  return gaussians;
}

void write_plain(FileWriter& file, const ops::Gaussians& gaussians) {
  const std::vector<PlyColumn> places = property_places(gaussians);
  std::string head =
      fmt::format("ply\nformat binary_little_endian 1.0\nelement vertex {}\n", gaussians.size());
  for (const std::string& name : property_names(gaussians.harmonics.size(1)))
    head += "property float " + name + "\n";
  file.write(head + "end_header\n");
  constexpr int64_t kRowsAtOnce = 4096;
  std::vector<float> rows;
  for (int64_t first = 0; first < gaussians.size(); first += kRowsAtOnce) {
    const int64_t end = std::min(first + kRowsAtOnce, gaussians.size());
    rows.clear();
    for (int64_t i = first; i < end; ++i)
      for (const PlyColumn& place : places)
        rows.push_back(place.to == nullptr ? 0.0F : place.to[i * place.stride]);
    file.write(rows.data(), rows.size() * sizeof(float));
  }
}

}  // namespace

int64_t count_coefficients(const std::string& path, const PlyElement& element, std::vector<int>& rest) {
  const int64_t count =
      std::count_if(element.properties.begin(), element.properties.end(),
                    [](const PlyProperty& property) { return property.name.starts_with(kRestName); });
  LACT_CHECK(count == 0 || count == 9 || count == 24 || count == 45,
             "{}: there are {} properties f_rest_, expected 0, 9, 24 or 45 of them", path, count);
  for (int64_t i = 0; i < count; ++i) {
    rest.push_back(element.find(kRestName + std::to_string(i)));
    LACT_CHECK(rest.back() >= 0, "{}: of {} properties f_rest_ there is none of number {}", path, count, i);
  }
  return 1 + count / 3;
}

ops::Gaussians read_gaussians(const std::string& path) {
  const MappedFile file(path);
  const std::string_view bytes(file.data(), file.size());
  const PlyHeader header = read_ply_header(path, bytes, kMostGaussians);
  PlyValues values(path, bytes.substr(header.bytes), header);
  ops::Gaussians gaussians = holds_packed_gaussians(header) ? read_packed_gaussians(path, header, values)
                                                            : read_plain(path, header, values);
  values.expect_end();
  const at::Tensor turned = gaussians.quaternions.abs().amax(1).gt(0);
  LACT_CHECK(turned.all().item<bool>(), "{}: a Gaussian has the rotation 0 0 0 0, expected a quaternion",
             path);
  return gaussians;
}

void write_gaussians(const std::string& path, const ops::Gaussians& gaussians) {
  ops::check_gaussians(gaussians);
  LACT_CHECK(gaussians.size() > 0, "{}: there are no Gaussians to write", path);
  const at::NoGradGuard no_grad;
  const ops::Gaussians plain = ops::map_fields(
      gaussians, [](const at::Tensor& field) { return field.to(at::kCPU, at::kFloat).contiguous(); });
  const bool packed = ends_with_letters(path, ".compressed.ply");
  write_file_atomically(path, [&](FileWriter& file) {
    packed ? write_packed_gaussians(file, plain) : write_plain(file, plain);
  });
}

bool has_ply_name(const std::string& path) { return ends_with_letters(path, ".ply"); }

}  // namespace lact::io
