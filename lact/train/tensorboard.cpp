#include "lact/train/tensorboard.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "lact/base/error.h"
#include "lact/io/atomic_file.h"

namespace lact::train {

namespace {

constexpr size_t kMostPending = 1 << 16;

template <class Bits>
std::string little_endian(Bits bits) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(Bits); ++i) bytes += static_cast<char>((bits >> (8 * i)) & 0xFF);
  return bytes;
}

// Protocol buffers: a field is its number and wire type in one byte, then its value.
enum class Wire { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

std::string key(int field, Wire wire) {
  return std::string(1, static_cast<char>(field << 3 | static_cast<int>(wire)));
}

std::string varint(uint64_t bits) {
  std::string bytes;
  for (; bits >= 0x80; bits >>= 7) bytes += static_cast<char>((bits & 0x7F) | 0x80);
  return bytes + static_cast<char>(bits);
}

std::string field(int number, double value) {
  return key(number, Wire::fixed64) + little_endian(std::bit_cast<uint64_t>(value));
}
std::string field(int number, float value) {
  return key(number, Wire::fixed32) + little_endian(std::bit_cast<uint32_t>(value));
}
std::string field(int number, int64_t value) {
  return key(number, Wire::varint) + varint(static_cast<uint64_t>(value));
}
std::string field(int number, const std::string& bytes) {
  return key(number, Wire::bytes) + varint(bytes.size()) + bytes;
}

// The numbers of the fields that are written, from TensorBoard's event.proto and summary.proto.
namespace event {
constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5;
}
namespace summary {
constexpr int kValue = 1;
namespace value {
constexpr int kTag = 1, kSimpleValue = 2;
}
}  // namespace summary

/// TFRecord stores checksums in disguise: one of data that holds checksums itself would be a weak one.
uint32_t masked(uint32_t checksum) { return std::rotr(checksum, 15) + 0xA282EAD8u; }

std::string record(const std::string& data) {
  const std::string length = little_endian(static_cast<uint64_t>(data.size()));
  return length + little_endian(masked(crc32c(length))) + data + little_endian(masked(crc32c(data)));
}

std::string host_name() {
  std::array<char, 256> name = {};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> rows;
    for (uint32_t i = 0; i < rows.size(); ++i) {
      rows[i] = i;
      for (int bit = 0; bit < 8; ++bit) rows[i] = (rows[i] >> 1) ^ (rows[i] & 1 ? 0x82F63B78u : 0);
    }
    return rows;
  }();
  uint32_t checksum = ~0u;
  for (const char byte : bytes) {
    checksum = (checksum >> 8) ^ table[(checksum ^ static_cast<unsigned char>(byte)) & 0xFF];
  }
  return ~checksum;
}

TensorBoardWriter::TensorBoardWriter(const std::string& folder, double wall_time) {
  LACT_CHECK(!folder.empty(), "the name of the folder for TensorBoard is empty");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  LACT_CHECK(!error, "{}: this folder for TensorBoard cannot be made: {}", folder, error.message());
  const std::string name =
      fmt::format("events.out.tfevents.{:010}.{}.{}", static_cast<int64_t>(wall_time), host_name(), getpid());
  // A second writer of the same second gets a number of its own.
  for (int number = 0; descriptor_ < 0; ++number) {
    path_ =
        (std::filesystem::path(folder) / (number == 0 ? name : fmt::format("{}.{}", name, number))).string();
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    LACT_CHECK(descriptor_ >= 0 || errno == EEXIST || errno == EINTR, "{}: cannot be written: {}", path_,
               std::generic_category().message(errno));
  }
  pending_ =
      record(field(event::kWallTime, wall_time) + field(event::kFileVersion, std::string("brain.Event:2")));
  try {
    flush();
  } catch (...) {
    close(descriptor_);
    unlink(path_.c_str());
    throw;
  }
}

TensorBoardWriter::~TensorBoardWriter() {
  try {
    flush();
  } catch (const Error&) {
    // A destructor has nobody to tell.
  }
  close(descriptor_);
}

void TensorBoardWriter::scalar(const std::string& tag, double value, int64_t step, double wall_time) {
  const std::string entry =
      field(summary::value::kTag, tag) + field(summary::value::kSimpleValue, static_cast<float>(value));
  pending_ += record(field(event::kWallTime, wall_time) + field(event::kStep, step) +
                     field(event::kSummary, field(summary::kValue, entry)));
  if (pending_.size() > kMostPending) flush();
}

void TensorBoardWriter::flush() {
  try {
    io::FileWriter(descriptor_, path_).write(pending_);
  } catch (...) {
    // Half a record would hide everything written after it.
    if (ftruncate(descriptor_, written_) == 0) lseek(descriptor_, written_, SEEK_SET);
    throw;
  }
  written_ += static_cast<int64_t>(pending_.size());
  pending_.clear();
}

}  // namespace lact::train
