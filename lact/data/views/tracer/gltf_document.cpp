#include "lact/data/views/tracer/gltf_document.h"

#include <cmath>
#include <cstring>
#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/json_text.h"
#include "lact/data/views/tracer/gltf_library.h"
#include "lact/data/views/tracer/mesh.h"
#include "lact/io/image.h"
#include "lact/io/regular_file.h"
#include "lact/io/safetensors_header.h"

namespace lact::data::tracer {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxGltfBytes = uint64_t{1} << 30;  // of the file, and of the buffers
constexpr size_t kMostJsonValues = 2'000'000;          // TinyGLTF takes 200 bytes for each

/// Values of JSON are parted by commas and brackets; those inside of texts count for nothing.
void check_number_of_values(std::string_view json, const std::string& path) {
  size_t values = 0;
  bool text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '"') text = !text;
    if (text && json[i] == '\\') ++i;
    if (!text && (json[i] == ',' || json[i] == '{' || json[i] == '[')) ++values;
  }
  LACT_CHECK(values <= kMostJsonValues, "{}: its JSON has {} values, expected at most {}", path, values,
             kMostJsonValues);
}

bool is_binary(std::string_view file) { return file.starts_with("glTF"); }

/// The JSON of either kind of file.
std::string_view json_of(std::string_view file, const std::string& path) {
  if (!is_binary(file)) return file;
  uint32_t length = 0;
  LACT_CHECK(file.size() >= 20, "{}: the file ends in the middle", path);
  std::memcpy(&length, file.data() + 12, sizeof(length));
  LACT_CHECK(length <= file.size() - 20, "{}: its JSON has {} bytes, but {} are left", path, length,
             file.size() - 20);
  return file.substr(20, length);
}

uint64_t whole_number(const nlohmann::ordered_json& object, const char* key, const std::string& where) {
  if (!object.is_object() || !object.contains(key)) return 0;
  const auto& value = object[key];
  LACT_CHECK(value.is_number_unsigned() && value.get<uint64_t>() <= kMaxGltfBytes,
             "{}.{} is {}, expected a whole number from 0 to {}", where, key, shown_json(value),
             kMaxGltfBytes);
  return value.get<uint64_t>();
}

/// TinyGLTF trusts the sizes that the JSON tells, and makes a copy of the file's bytes for every buffer.
void check_buffers(const nlohmann::ordered_json& json, const std::string& path) {
  LACT_CHECK(json.is_object(), "{}: is no glTF: its JSON is not an object", path);
  uint64_t total = 0;
  std::vector<uint64_t> lengths;
  if (json.contains("buffers") && json["buffers"].is_array()) {
    for (const auto& buffer : json["buffers"]) {
      lengths.push_back(
          whole_number(buffer, "byteLength", fmt::format("{}: buffers.{}", path, lengths.size())));
      total += lengths.back();
      LACT_CHECK(lengths.back() > 0 && total <= kMaxGltfBytes,
                 "{}: buffers.{} has {} bytes, expected at least one and in all buffers at most {}", path,
                 lengths.size() - 1, lengths.back(), kMaxGltfBytes);
    }
  }
  if (!json.contains("bufferViews") || !json["bufferViews"].is_array()) return;
  size_t number = 0;
  for (const auto& view : json["bufferViews"]) {
    const std::string where = fmt::format("{}: bufferViews.{}", path, number++);
    const uint64_t buffer = whole_number(view, "buffer", where),
                   offset = whole_number(view, "byteOffset", where),
                   length = whole_number(view, "byteLength", where);
    LACT_CHECK(buffer < lengths.size(), "{} is of buffer {}, but there are {}", where, buffer,
               lengths.size());
    LACT_CHECK(length > 0 && offset + length <= lengths[buffer],
               "{} has {} bytes from byte {} on, but buffer {} has {}", where, length, offset, buffer,
               lengths[buffer]);
  }
}

/// What TinyGLTF reads besides the file itself: buffers, not pictures.
struct OtherFiles {
  uint64_t left = kMaxGltfBytes;

  static bool exists(const std::string& path, void*) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored);
  }
  static std::string as_it_is(const std::string& path, void*) { return path; }
  static bool read(std::vector<unsigned char>* out, std::string* error, const std::string& path, void* self) {
    auto& left = static_cast<OtherFiles*>(self)->left;
    try {
      const std::string bytes = io::read_whole_file(path, left);
      left -= bytes.size();
      out->assign(bytes.begin(), bytes.end());
      return true;
    } catch (const Error& mistake) {
      *error = mistake.what();
      return false;
    }
  }
};

/// Pictures in the JSON itself are kept as they are; those of a buffer stay there until they are needed.
bool keep_picture(tinygltf::Image* image, int, std::string*, std::string*, int, int,
                  const unsigned char* bytes, int count, void*) {
  if (image->bufferView < 0 && count > 0) image->image.assign(bytes, bytes + count);
  return true;
}

void check_extensions(const tinygltf::Model& model, const std::string& path) {
  for (const auto& name : model.extensionsRequired) {
    // How a surface shines is not shown anyway.
    const bool known = name == "KHR_mesh_quantization" || name == "KHR_lights_punctual" ||
                       (name.starts_with("KHR_materials_") && name != "KHR_materials_pbrSpecularGlossiness");
    LACT_CHECK(known, "{}: extensionsRequired names {}, which is not known here", path, io::shown(name));
  }
}

/// Bytes of a number; 0 where there is no such type.
int64_t component_bytes(int type) {
  switch (type) {
    case TINYGLTF_COMPONENT_TYPE_BYTE:
    case TINYGLTF_COMPONENT_TYPE_UNSIGNED_BYTE:
      return 1;
    case TINYGLTF_COMPONENT_TYPE_SHORT:
    case TINYGLTF_COMPONENT_TYPE_UNSIGNED_SHORT:
      return 2;
    case TINYGLTF_COMPONENT_TYPE_UNSIGNED_INT:
    case TINYGLTF_COMPONENT_TYPE_FLOAT:
      return 4;
    default:
      return 0;
  }
}

template <class Number>
double taken(const unsigned char* bytes, bool normalized) {
  Number value;
  std::memcpy(&value, bytes, sizeof(value));
  if (!std::is_integral_v<Number> || !normalized) return static_cast<double>(value);
  return std::max(static_cast<double>(value) / static_cast<double>(std::numeric_limits<Number>::max()), -1.0);
}

double component(const unsigned char* bytes, int type, bool normalized) {
  switch (type) {
    case TINYGLTF_COMPONENT_TYPE_BYTE:
      return taken<int8_t>(bytes, normalized);
    case TINYGLTF_COMPONENT_TYPE_UNSIGNED_BYTE:
      return taken<uint8_t>(bytes, normalized);
    case TINYGLTF_COMPONENT_TYPE_SHORT:
      return taken<int16_t>(bytes, normalized);
    case TINYGLTF_COMPONENT_TYPE_UNSIGNED_SHORT:
      return taken<uint16_t>(bytes, normalized);
    case TINYGLTF_COMPONENT_TYPE_UNSIGNED_INT:
      return taken<uint32_t>(bytes, normalized);
    default:
      return taken<float>(bytes, normalized);
  }
}

/// 0 for matrices.
int64_t channels_of(int type) {
  return type == TINYGLTF_TYPE_SCALAR                               ? 1
         : type >= TINYGLTF_TYPE_VEC2 && type <= TINYGLTF_TYPE_VEC4 ? type
                                                                    : 0;
}

/// Names in glTF are written as in addresses: a blank is %20.
std::string unescaped(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto hex = [&](size_t place) {
      const char c = place < text.size() ? text[place] : ' ';
      return c >= '0' && c <= '9'   ? c - '0'
             : c >= 'a' && c <= 'f' ? c - 'a' + 10
             : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                    : -1;
    };
    if (text[i] == '%' && hex(i + 1) >= 0 && hex(i + 2) >= 0) {
      plain += static_cast<char>(hex(i + 1) * 16 + hex(i + 2));
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace

GltfDocument::GltfDocument(const std::string& path)
    : path_(path), model_(std::make_unique<tinygltf::Model>()) {
  const std::string file = io::read_whole_file(path, kMaxGltfBytes);
  const std::string_view json = json_of(file, path);
  check_number_of_values(json, path);
  check_buffers(parse_json(json, path), path);
  OtherFiles others;
  tinygltf::TinyGLTF reader;
  reader.SetImageLoader(&keep_picture, nullptr);
  reader.SetFsCallbacks({&OtherFiles::exists, &OtherFiles::as_it_is, &OtherFiles::read, nullptr, &others});
  std::string mistakes, warnings;
  bool good = false;
  const std::string folder = fs::path(path).parent_path().string();
  try {
    good = is_binary(file) ? reader.LoadBinaryFromMemory(model_.get(), &mistakes, &warnings,
                                                         reinterpret_cast<const unsigned char*>(file.data()),
                                                         static_cast<unsigned>(file.size()), folder)
                           : reader.LoadASCIIFromString(model_.get(), &mistakes, &warnings, file.data(),
                                                        static_cast<unsigned>(file.size()), folder);
  } catch (const std::exception& mistake) {
    mistakes = mistake.what();
  }
  while (!mistakes.empty() && mistakes.back() == '\n') mistakes.pop_back();
  LACT_CHECK(good, "{}: cannot be read as glTF: {}", path, io::shown(mistakes));
  check_extensions(*model_, path);
}

GltfDocument::~GltfDocument() = default;

GltfNumbers GltfDocument::numbers(int accessor, int64_t least_channels, int64_t most_channels,
                                  const std::string& what) const {
  const auto& accessors = model_->accessors;
  LACT_CHECK(accessor >= 0 && static_cast<size_t>(accessor) < accessors.size(),
             "{}: {} is accessor {}, but there are {}", path_, what, accessor, accessors.size());
  const tinygltf::Accessor& from = accessors[static_cast<size_t>(accessor)];
  const std::string where = fmt::format("{}: {}, accessor {},", path_, what, accessor);
  LACT_CHECK(!from.sparse.isSparse, "{} is sparse, which is not known here", where);
  const int64_t width = component_bytes(from.componentType), channels = channels_of(from.type);
  LACT_CHECK(width > 0 && channels >= least_channels && channels <= most_channels,
             "{} has componentType {} and {} channels, expected a known type and {} to {} channels", where,
             from.componentType, channels, least_channels, most_channels);
  LACT_CHECK(from.bufferView >= 0 && static_cast<size_t>(from.bufferView) < model_->bufferViews.size(),
             "{} has bufferView {}, but there are {}", where, from.bufferView, model_->bufferViews.size());
  LACT_CHECK(from.count >= 1 && from.count <= 3 * kMaxMeshItems, "{} has {} items, expected 1 to {}", where,
             from.count, 3 * kMaxMeshItems);
  const tinygltf::BufferView& view = model_->bufferViews[static_cast<size_t>(from.bufferView)];
  const auto& bytes = model_->buffers[static_cast<size_t>(view.buffer)].data;
  const uint64_t item = static_cast<uint64_t>(width * channels),
                 stride = view.byteStride == 0 ? item : view.byteStride;
  LACT_CHECK(stride >= item && from.byteOffset <= view.byteLength &&
                 (from.count - 1) * stride + item <= view.byteLength - from.byteOffset &&
                 view.byteOffset + view.byteLength <= bytes.size(),
             "{} has {} items of {} bytes from byte {} on, which reach beyond bufferView {} of {} bytes",
             where, from.count, stride, from.byteOffset, from.bufferView, view.byteLength);
  GltfNumbers result{static_cast<int64_t>(from.count), channels, {}};
  result.values.reserve(from.count * static_cast<size_t>(channels));
  for (size_t i = 0; i < from.count; ++i) {
    const unsigned char* first = bytes.data() + view.byteOffset + from.byteOffset + i * stride;
    for (int64_t channel = 0; channel < channels; ++channel) {
      const double value = component(first + channel * width, from.componentType, from.normalized);
      LACT_CHECK(std::isfinite(value) && std::fabs(value) <= 1e18, "{} has {}, expected a number within 1e18",
                 where, value);
      result.values.push_back(value);
    }
  }
  return result;
}

std::string GltfDocument::image_bytes(int image) const {
  const tinygltf::Image& from = model_->images[static_cast<size_t>(image)];
  if (from.bufferView >= 0) {
    LACT_CHECK(static_cast<size_t>(from.bufferView) < model_->bufferViews.size(),
               "{}: images.{} is bufferView {}, but there are {}", path_, image, from.bufferView,
               model_->bufferViews.size());
    const tinygltf::BufferView& view = model_->bufferViews[static_cast<size_t>(from.bufferView)];
    const auto& bytes = model_->buffers[static_cast<size_t>(view.buffer)].data;
    return {reinterpret_cast<const char*>(bytes.data()) + view.byteOffset, view.byteLength};
  }
  if (!from.image.empty()) return {reinterpret_cast<const char*>(from.image.data()), from.image.size()};
  const std::string file = (fs::path(path_).parent_path() / unescaped(from.uri)).string();
  return io::read_whole_file(file, io::kMaxImageFileBytes);
}

}  // namespace lact::data::tracer
