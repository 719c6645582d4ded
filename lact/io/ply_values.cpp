#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstring>

#include "lact/base/error.h"
#include "lact/io/ply.h"
#include "lact/io/safetensors_header.h"

namespace lact::io {

namespace {

constexpr double kLargestPlyNumber = 1e18;

double decode_ply(const char* bytes, PlyType type, std::endian order) {
  const size_t size = bytes_of_ply(type);
  char raw[8];
  std::memcpy(raw, bytes, size);
  if (order != std::endian::native) std::reverse(raw, raw + size);
  const auto as = [&](auto value) {
    std::memcpy(&value, raw, sizeof(value));
    return static_cast<double>(value);
  };
  switch (type) {
    case PlyType::int8:
      return as(int8_t{});
    case PlyType::uint8:
      return as(uint8_t{});
    case PlyType::int16:
      return as(int16_t{});
    case PlyType::uint16:
      return as(uint16_t{});
    case PlyType::int32:
      return as(int32_t{});
    case PlyType::uint32:
      return as(uint32_t{});
    case PlyType::float32:
      return as(float{});
    case PlyType::float64:
      break;
  }
  return as(double{});
}

}  // namespace

double PlyValues::bytes(PlyType type) {
  const size_t size = bytes_of_ply(type);
  LACT_CHECK(rest_.size() >= size, "{}: the file ends in the middle", path_);
  const double value = decode_ply(rest_.data(), type, order_);
  rest_.remove_prefix(size);
  return value;
}

double PlyValues::word(std::string_view what) {
  constexpr std::string_view kBetween = " \t\r\n";
  rest_.remove_prefix(std::min(rest_.find_first_not_of(kBetween), rest_.size()));
  const std::string_view word = rest_.substr(0, rest_.find_first_of(kBetween));
  LACT_CHECK(!word.empty(), "{}: the file ends in the middle", path_);
  rest_.remove_prefix(word.size());
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  LACT_CHECK(error == std::errc{} && end == word.data() + word.size(), "{}: {} has {}, expected a number",
             path_, what, shown(std::string(word)));
  return value;
}

double PlyValues::number(PlyType type, std::string_view what) {
  const double value = text_ ? word(what) : bytes(type);
  LACT_CHECK(std::isfinite(value) && std::fabs(value) <= kLargestPlyNumber,
             "{}: {} has {}, expected a number within 1e18", path_, what, value);
  return value;
}

int64_t PlyValues::whole(PlyType type, std::string_view what, int64_t most) {
  const double value = number(type, what);
  LACT_CHECK(value >= 0 && value <= static_cast<double>(most) && value == std::floor(value),
             "{}: {} has {}, expected a whole number from 0 to {}", path_, what, value, most);
  return static_cast<int64_t>(value);
}

/// Elements of one size as bytes, by several threads. False, with nothing consumed, where they are not such,
/// or where a number is out of bounds and a sentence is to be made.
bool PlyValues::read_records(const PlyElement& element, const std::vector<PlyColumn>& columns) {
  struct Field {
    size_t place;
    PlyType type;
    PlyColumn column;
  };
  std::vector<Field> fields;
  size_t size = 0;
  for (size_t k = 0; k < columns.size(); ++k) {
    const PlyProperty& property = element.properties[k];
    if (text_ || property.list) return false;
    if (columns[k].to != nullptr) fields.push_back({size, property.type, columns[k]});
    size += bytes_of_ply(property.type);
  }
  if (size == 0 || element.count > rest_.size() / size) return false;
  const bool plain = order_ == std::endian::native;
  std::atomic<bool> fine = true;
  at::parallel_for(0, int64_t(element.count), 4096, [&](int64_t begin, int64_t end) {
    bool all = true;
    for (int64_t i = begin; i < end; ++i) {
      const char* record = rest_.data() + size_t(i) * size;
      for (const Field& field : fields) {
        float value = 0;
        if (plain && field.type == PlyType::float32) {
          std::memcpy(&value, record + field.place, sizeof(value));
        } else {
          value = float(decode_ply(record + field.place, field.type, order_));
        }
        all = all && std::fabs(value) <= float(kLargestPlyNumber);  // not so for NaN
        field.column.to[i * field.column.stride] = value;
      }
    }
    if (!all) fine = false;
  });
  if (fine) rest_.remove_prefix(size_t(element.count) * size);
  return fine;
}

void PlyValues::read(const PlyElement& element, const std::vector<PlyColumn>& columns) {
  LACT_ASSERT(columns.size() == element.properties.size());
  if (columns.empty() || read_records(element, columns)) return;
  for (int64_t i = 0; i < int64_t(element.count); ++i) {
    for (size_t k = 0; k < columns.size(); ++k) {
      const PlyProperty& property = element.properties[k];
      if (columns[k].to == nullptr) {
        skip(property);
      } else {
        columns[k].to[i * columns[k].stride] = float(number(property.type, property.name));
      }
    }
  }
}

void PlyValues::skip(const PlyProperty& property) {
  const int64_t count =
      property.list ? whole(property.count, property.name, std::numeric_limits<uint32_t>::max()) : 1;
  for (int64_t i = 0; i < count; ++i) text_ ? word(property.name) : bytes(property.type);
}

void PlyValues::skip(const PlyElement& element) {
  if (element.properties.empty()) return;
  for (uint64_t i = 0; i < element.count; ++i)
    for (const auto& property : element.properties) skip(property);
}

void PlyValues::expect_end() const {
  const size_t left =
      text_ ? rest_.size() - std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()) : rest_.size();
  LACT_CHECK(left == 0, "{}: {} bytes are left behind the last element", path_, left);
}

}  // namespace lact::io
