// Golden cases of Gaussians in .ply files.
#include <ATen/ATen.h>
#include <unistd.h>

#include "lact/golden/kinds.h"
#include "lact/io/gaussian_ply.h"
#include "lact/io/regular_file.h"

namespace lact::golden {

namespace {

struct PlyOptions {
  std::string file, normals, property_order;
  int64_t vertices = 0, sh_degree = 0, header_bytes = 0, bytes_per_vertex = 0;
  std::vector<std::string> extra_properties;
  bool rewrite_is_identical = false;
  template <class Visitor>
  void visit(Visitor&& field) {
    field("file", file, "");
    field("vertices", vertices, "");
    field("sh_degree", sh_degree, "");
    field("normals", normals, "");
    field("property_order", property_order, "");
    field("header_bytes", header_bytes, "");
    field("bytes_per_vertex", bytes_per_vertex, "");
    field("extra_properties", extra_properties, "");
    field("rewrite_is_identical", rewrite_is_identical, "");
  }
};

/// The bytes of the Gaussians as we write them; read again, they are the same.
std::string written(const ops::Gaussians& gaussians) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("lact_golden_{}.ply", ::getpid());
  io::write_gaussians(path.string(), gaussians);
  std::string bytes = io::read_whole_file(path.string(), 1 << 30);
  const ops::Gaussians again = io::read_gaussians(path.string());
  std::filesystem::remove(path);
  for (size_t i = 0; i < ops::kGaussianFields.size(); ++i)
    LACT_CHECK(again.fields()[i]->equal(*gaussians.fields()[i]), "{} differ after writing and reading",
               ops::kGaussianFields[i]);
  return bytes;
}

}  // namespace

void run_splat_ply(Run& run) {
  PlyOptions options;
  options::read(run.options(), options, "options");
  const std::string path = (std::filesystem::path(run.folder()) / options.file).string();
  const ops::Gaussians gaussians = io::read_gaussians(path);
  LACT_CHECK(gaussians.size() == options.vertices && gaussians.degree() == options.sh_degree,
             "{} Gaussians of degree {} were read, expected {} of degree {}", gaussians.size(),
             gaussians.degree(), options.vertices, options.sh_degree);
  const auto size = int64_t(io::regular_file_size(path));
  LACT_CHECK(size == options.header_bytes + options.vertices * options.bytes_per_vertex,
             "the file has {} bytes, expected {} and {} for each vertex", size, options.header_bytes,
             options.bytes_per_vertex);
  const auto expect = [&](const char* name, const at::Tensor& field) {
    const at::Tensor stored = run.input(name);
    run.expect(name, field.to(stored.scalar_type()));
    LACT_CHECK(field.to(stored.scalar_type()).equal(stored), "{} are not read bit for bit", name);
  };
  expect("means", gaussians.means);
  expect("quats", gaussians.quaternions);
  expect("log_scales", gaussians.log_scales);
  expect("opacity_logits", gaussians.opacity_logits);
  expect("sh", gaussians.harmonics);
  const std::string bytes = written(gaussians);
  LACT_CHECK(!options.rewrite_is_identical || bytes == io::read_whole_file(path, 1 << 30),
             "{} is not written as it was", options.file);
}

}  // namespace lact::golden
