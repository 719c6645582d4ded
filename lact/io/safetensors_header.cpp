#include "lact/io/safetensors_header.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "lact/base/error.h"

namespace lact::io {

namespace {

using Json = nlohmann::json;

constexpr const char* kMetadata = "__metadata__";
constexpr size_t kMaxDims = 64;  // LibTorch's own limit for most operations

// clang-format off
constexpr std::array<std::pair<at::ScalarType, std::string_view>, 10> kDtypes = {{
    {at::kDouble, "F64"}, {at::kFloat, "F32"}, {at::kHalf, "F16"}, {at::kBFloat16, "BF16"},
    {at::kLong, "I64"}, {at::kInt, "I32"}, {at::kShort, "I16"}, {at::kChar, "I8"},
    {at::kByte, "U8"}, {at::kBool, "BOOL"}}};
// clang-format on

/// Reads the header token by token. A document tree would silently drop repeated keys, and a nest of brackets
/// would take many times its size in memory.
class HeaderReader : public nlohmann::json_sax<Json> {
 public:
  HeaderReader(const std::string& path, uint64_t data_bytes) : path_(path), data_bytes_(data_bytes) {}

  SafetensorsHeader take() { return std::move(header_); }

  bool null() override { unexpected("null"); }
  bool boolean(bool value) override { unexpected(value ? "true" : "false"); }
  bool number_integer(int64_t value) override { unexpected(std::to_string(value)); }
  bool number_float(double, const std::string& text) override { unexpected(text.substr(0, 40)); }
  bool binary(binary_t&) override { unexpected("binary"); }

  bool number_unsigned(uint64_t value) override {
    if (place_ != Place::shape && place_ != Place::offsets) unexpected(std::to_string(value));
    auto& list = place_ == Place::shape ? shape_ : offsets_;
    const size_t limit = place_ == Place::shape ? kMaxDims : 2;
    if (list.size() == limit) unexpected(fmt::format("a list of more than {}", limit));
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) unexpected(std::to_string(value));
    list.push_back(static_cast<int64_t>(value));
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::metadata) {
      header_.metadata[field_] = value;
    } else if (place_ == Place::tensor && field_ == "dtype") {
      entry_.dtype = parse_dtype(value);
    } else {
      unexpected(shown(value));
    }
    return true;
  }

  bool start_object(size_t) override {
    if (place_ == Place::document) {
      place_ = Place::header;
    } else if (place_ == Place::header) {
      place_ = name_ == kMetadata ? Place::metadata : Place::tensor;
      fields_.clear();
      entry_ = {};
      shape_.clear();
      offsets_.clear();
    } else {
      unexpected("an object");
    }
    return true;
  }

  bool start_array(size_t) override {
    if (place_ == Place::tensor && field_ == "shape") {
      place_ = Place::shape;
    } else if (place_ == Place::tensor && field_ == "data_offsets") {
      place_ = Place::offsets;
    } else {
      unexpected("a list");
    }
    return true;
  }

  bool end_array() override {
    if (place_ == Place::offsets && offsets_.size() != 2) {
      unexpected(fmt::format("a list of {}", offsets_.size()));
    }
    place_ = Place::tensor;
    return true;
  }

  bool key(std::string& key) override {
    if (place_ == Place::header) {
      LACT_CHECK(names_.insert(key).second, "{}: {} occurs twice in the header", path_, shown(key));
      name_ = key;
      return true;
    }
    field_ = key;
    LACT_CHECK(fields_.insert(key).second, "{}: {} occurs twice", path_, subject());
    LACT_CHECK(place_ == Place::metadata || key == "dtype" || key == "shape" || key == "data_offsets",
               "{}: tensor {} has the field {}, expected only dtype, shape and data_offsets", path_,
               shown(name_), shown(key));
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor) finish_tensor();
    place_ = place_ == Place::header ? Place::document : Place::header;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fail("{}: the header is not valid JSON at its byte {}", path_, position);
  }

 private:
  enum class Place { document, header, metadata, tensor, shape, offsets };

  std::string subject() const {
    if (place_ == Place::document) return "the header";
    if (place_ == Place::header) return fmt::format("the entry {}", shown(name_));
    if (place_ == Place::metadata) return fmt::format("metadata {}", shown(field_));
    return fmt::format("{} of tensor {}", field_, shown(name_));
  }

  std::string expected() const {
    if (place_ == Place::document || place_ == Place::header) return "an object";
    if (place_ == Place::metadata || field_ == "dtype") return "a string";
    if (field_ == "shape") return fmt::format("a list of at most {} whole numbers from 0", kMaxDims);
    return "a list of two whole numbers from 0";
  }

  [[noreturn]] void unexpected(const std::string& found) const {
    fail("{}: {} holds {}, expected {}", path_, subject(), found, expected());
  }

  at::ScalarType parse_dtype(const std::string& word) const {
    std::vector<std::string_view> known;
    for (const auto& [dtype, name] : kDtypes) {
      if (name == word) return dtype;
      known.push_back(name);
    }
    fail("{}: tensor {} has dtype {}, expected one of {}", path_, shown(name_), shown(word),
         fmt::join(known, ", "));
  }

  void finish_tensor() {
    for (const char* field : {"dtype", "shape", "data_offsets"}) {
      LACT_CHECK(fields_.count(field) != 0, "{}: tensor {} has no {}", path_, shown(name_), field);
    }
    // A size of 0 counts as 1: LibTorch multiplies the others into strides, which must not overflow either.
    int64_t bytes = static_cast<int64_t>(c10::elementSize(entry_.dtype));
    bool empty = false, overflow = false;
    for (const int64_t size : shape_) {
      empty = empty || size == 0;
      overflow = overflow || __builtin_mul_overflow(bytes, std::max<int64_t>(size, 1), &bytes);
    }
    LACT_CHECK(!overflow, "{}: tensor {} has shape {}, expected a size below 2^63 bytes", path_, shown(name_),
               shape_);
    if (empty) bytes = 0;
    const int64_t begin = offsets_[0], end = offsets_[1];
    LACT_CHECK(begin <= end && static_cast<uint64_t>(end) <= data_bytes_,
               "{}: tensor {} has data_offsets [{}, {}], expected a range within the {} bytes of data", path_,
               shown(name_), begin, end, data_bytes_);
    LACT_CHECK(bytes == end - begin,
               "{}: tensor {} takes {} bytes in its data_offsets, expected {} for its shape {}", path_,
               shown(name_), end - begin, bytes, shape_);
    entry_.name = name_;
    entry_.shape = shape_;
    entry_.begin = static_cast<uint64_t>(begin);
    entry_.end = static_cast<uint64_t>(end);
    header_.entries.push_back(std::move(entry_));
  }

  const std::string& path_;
  const uint64_t data_bytes_;
  SafetensorsHeader header_;
  Place place_ = Place::document;
  std::set<std::string> names_, fields_;
  std::string name_, field_;
  TensorEntry entry_;
  std::vector<int64_t> shape_, offsets_;
};

/// Sorts the entries by their bytes, which must follow each other without gap or overlap from first to last.
void check_coverage(const std::string& path, std::vector<TensorEntry>& entries, uint64_t data_bytes) {
  std::sort(entries.begin(), entries.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  uint64_t covered = 0;
  for (const auto& entry : entries) {
    LACT_CHECK(entry.begin >= covered,
               "{}: tensor {} begins at byte {} of the data, expected {}: it overlaps another", path,
               shown(entry.name), entry.begin, covered);
    LACT_CHECK(entry.begin == covered,
               "{}: tensor {} begins at byte {} of the data, expected {}: there is a gap", path,
               shown(entry.name), entry.begin, covered);
    covered = entry.end;
  }
  LACT_CHECK(covered == data_bytes,
             "{}: the file holds {} bytes of data, expected {} for the tensors of its header", path,
             data_bytes, covered);
}

std::string_view dtype_name(at::ScalarType dtype) {
  for (const auto& [candidate, name] : kDtypes) {
    if (candidate == dtype) return name;
  }
  return {};
}

}  // namespace

bool has_safetensors_name(at::ScalarType dtype) { return !dtype_name(dtype).empty(); }

std::string shown(const std::string& text) {
  constexpr size_t kLongest = 80;
  std::string cut = text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
  return Json(std::move(cut)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

SafetensorsHeader parse_safetensors_header(const std::string& path, const std::string& json,
                                           uint64_t data_bytes) {
  LACT_CHECK(!json.empty() && json[0] == '{', "{}: the header does not begin with an opening brace", path);
  // The JSON reader takes a zero byte for the end of its input.
  const size_t zero = json.find('\0');
  LACT_CHECK(zero == std::string::npos, "{}: the header is not valid JSON at its byte {}", path, zero + 1);
  HeaderReader reader(path, data_bytes);
  Json::sax_parse(json, &reader);
  SafetensorsHeader header = reader.take();
  check_coverage(path, header.entries, data_bytes);
  return header;
}

std::string format_safetensors_header(const std::string& path, const SafetensorsHeader& header) {
  Json object = Json::object();
  if (!header.metadata.empty()) object[kMetadata] = header.metadata;
  for (const auto& entry : header.entries) {
    LACT_CHECK(entry.name != kMetadata, "{}: a tensor is named {}, which the format keeps for metadata", path,
               kMetadata);
    object[entry.name] = {{"dtype", dtype_name(entry.dtype)},
                          {"shape", entry.shape},
                          {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text;
  try {
    text = object.dump();
  } catch (const Json::type_error&) {
    fail("{}: cannot be written: the name of a tensor or a word of its metadata is not valid UTF-8", path);
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  LACT_CHECK(text.size() <= kMaxHeaderBytes,
             "{}: cannot be written: the header takes {} bytes, expected at most {}", path, text.size(),
             kMaxHeaderBytes);
  return text;
}

}  // namespace lact::io
