// Walks over the fields of a protobuf message, which may come from anywhere: every length is checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lact::data {

class ProtobufReader {
 public:
  /// `name` begins the sentence about a mistake and must outlive the reader.
  ProtobufReader(std::string_view message, const std::string& name) : rest_(message), name_(name) {}

  /// Moves to the next field; false at the end.
  bool next();
  uint64_t field() const { return field_; }

  // The value of the current field, which must be stored as that type.
  int64_t integer() const;
  float number() const;
  std::string_view bytes() const;

 private:
  enum Wire : uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  uint64_t read_varint();
  std::string_view take(uint64_t count);
  void expect(Wire wire) const;

  std::string_view rest_;
  const std::string& name_;
  uint64_t field_ = 0, wire_ = 0, varint_ = 0;
  std::string_view bytes_;
};

}  // namespace lact::data
