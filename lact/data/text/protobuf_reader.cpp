#include "lact/data/text/protobuf_reader.h"

#include <cstring>

#include "lact/base/error.h"

namespace lact::data {

bool ProtobufReader::next() {
  if (rest_.empty()) return false;
  const uint64_t tag = read_varint();
  field_ = tag >> 3;
  wire_ = tag & 7;
  LACT_CHECK(field_ != 0, "{}: is not a SentencePiece model: a field has the number 0", name_);
  switch (wire_) {
    case kVarint:
      varint_ = read_varint();
      break;
    case kFixed64:
      bytes_ = take(8);
      break;
    case kBytes:
      bytes_ = take(read_varint());
      break;
    case kFixed32:
      bytes_ = take(4);
      break;
    default:
      fail("{}: is not a SentencePiece model: a field has the unknown type {}", name_, wire_);
  }
  return true;
}

int64_t ProtobufReader::integer() const {
  expect(kVarint);
  return static_cast<int64_t>(varint_);
}

float ProtobufReader::number() const {
  expect(kFixed32);
  float value;
  std::memcpy(&value, bytes_.data(), sizeof(value));
  return value;
}

std::string_view ProtobufReader::bytes() const {
  expect(kBytes);
  return bytes_;
}

uint64_t ProtobufReader::read_varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<uint8_t>(take(1)[0]);
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  fail("{}: is not a SentencePiece model: a number has more than 64 bits", name_);
}

std::string_view ProtobufReader::take(uint64_t count) {
  LACT_CHECK(count <= rest_.size(),
             "{}: is not a whole SentencePiece model: a field needs {} bytes, but {} are left", name_, count,
             rest_.size());
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return taken;
}

void ProtobufReader::expect(Wire wire) const {
  LACT_CHECK(wire_ == wire, "{}: is not a SentencePiece model: field {} has type {}, expected {}", name_,
             field_, wire_, static_cast<uint64_t>(wire));
}

}  // namespace lact::data
