// A glTF file, taken apart by TinyGLTF and checked, so that what is read from it lies inside of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tinygltf {
class Model;
}

namespace lact::data::tracer {

/// Numbers of an accessor: vertices, indices, colours.
struct GltfNumbers {
  int64_t count = 0, channels = 0;
  std::vector<double> values;  ///< [count, channels]; whole numbers that stand for shares are shares

  double at(int64_t row, int64_t channel) const {
    return values[static_cast<size_t>(row * channels + channel)];
  }
};

class GltfDocument {
 public:
  /// Throws a sentence for what is no glTF, too large, or needs an extension that is not known here.
  explicit GltfDocument(const std::string& path);
  ~GltfDocument();

  const tinygltf::Model& model() const { return *model_; }
  const std::string& path() const { return path_; }

  /// An accessor of this many channels; `what` is for sentences. All numbers are finite and within 1e18.
  GltfNumbers numbers(int accessor, int64_t least_channels, int64_t most_channels,
                      const std::string& what) const;

  /// The file of a picture, PNG or JPEG.
  std::string image_bytes(int image) const;

 private:
  std::string path_;
  std::unique_ptr<tinygltf::Model> model_;
};

}  // namespace lact::data::tracer
