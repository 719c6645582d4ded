#include "lact/train/tensorboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>

#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::train {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::read_file;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing::TemporaryFolder;

/// Castagnoli's checksum bit by bit, and the mask of the TFRecord format.
uint32_t masked_checksum(const std::string& bytes) {
  uint32_t crc = 0xFFFFFFFF;
  for (const unsigned char byte : bytes) {
    crc ^= byte;
    for (int i = 0; i < 8; ++i) crc = crc & 1 ? (crc >> 1) ^ 0x82F63B78 : crc >> 1;
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8;
}

template <class T>
T take(std::string& bytes) {
  T value{};
  if (bytes.size() < sizeof(T)) throw std::runtime_error("the bytes end too early");
  std::memcpy(&value, bytes.data(), sizeof(T));  // the tests run on little-endian machines
  bytes.erase(0, sizeof(T));
  return value;
}

std::string take_bytes(std::string& bytes, uint64_t count) {
  if (bytes.size() < count) throw std::runtime_error("the bytes end too early");
  const std::string taken = bytes.substr(0, count);
  bytes.erase(0, count);
  return taken;
}

uint64_t take_varint(std::string& bytes) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = take<uint8_t>(bytes);
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
}

struct Event {
  double wall_time = -1;
  int64_t step = 0;
  std::string version, tag;
  std::optional<float> value;
};

void decode_value(std::string bytes, Event& event) {
  while (!bytes.empty()) {
    switch (const uint64_t key = take_varint(bytes)) {
      case 1 << 3 | 2:
        event.tag = take_bytes(bytes, take_varint(bytes));
        break;
      case 2 << 3 | 5:
        event.value = take<float>(bytes);
        break;
      default:
        ADD_FAILURE() << "unknown key " << key << " in a value";
    }
  }
}

Event decode_event(std::string bytes) {
  Event event;
  while (!bytes.empty()) {
    switch (const uint64_t key = take_varint(bytes)) {
      case 1 << 3 | 1:
        event.wall_time = take<double>(bytes);
        break;
      case 2 << 3 | 0:
        event.step = static_cast<int64_t>(take_varint(bytes));
        break;
      case 3 << 3 | 2:
        event.version = take_bytes(bytes, take_varint(bytes));
        break;
      case 5 << 3 | 2: {
        std::string summary = take_bytes(bytes, take_varint(bytes));
        EXPECT_EQ(take_varint(summary), 1u << 3 | 2);
        decode_value(take_bytes(summary, take_varint(summary)), event);
        EXPECT_EQ(summary, "");
        break;
      }
      default:
        ADD_FAILURE() << "unknown key " << key << " in an event";
    }
  }
  return event;
}

std::vector<Event> decode(const std::string& path) {
  std::string bytes = read_file(path);
  std::vector<Event> events;
  while (!bytes.empty()) {
    const std::string header = bytes.substr(0, 8);
    const auto length = take<uint64_t>(bytes);
    EXPECT_EQ(take<uint32_t>(bytes), masked_checksum(header));
    const std::string data = take_bytes(bytes, length);
    EXPECT_EQ(take<uint32_t>(bytes), masked_checksum(data));
    events.push_back(decode_event(data));
  }
  return events;
}

TEST(TensorBoard, ChecksumHasItsKnownValues) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);  // RFC 3720
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
}

TEST(TensorBoard, FileHoldsItsVersionAndTheScalars) {
  const TemporaryFolder folder;
  TensorBoardWriter writer(folder / "run/logs", 1700000000.25);
  const int64_t far = int64_t{1} << 40;
  writer.scalar("train/loss", 2.5, 1, 1700000001.5);
  writer.scalar(std::string(300, 't'), -0.1, far, 1700000002);
  writer.scalar("leer", 0, 0, 0);
  writer.flush();
  const auto events = decode(writer.path());
  ASSERT_THAT(events, SizeIs(4));
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_EQ(events[0].wall_time, 1700000000.25);
  EXPECT_FALSE(events[0].value.has_value());
  EXPECT_EQ(events[1].tag, "train/loss");
  EXPECT_EQ(events[1].value, 2.5f);
  EXPECT_EQ(events[1].step, 1);
  EXPECT_EQ(events[1].wall_time, 1700000001.5);
  EXPECT_EQ(events[2].tag, std::string(300, 't'));
  EXPECT_EQ(events[2].value, -0.1f);
  EXPECT_EQ(events[2].step, far);
  EXPECT_EQ(events[3].value, 0.0f);
}

TEST(TensorBoard, ValuesThatAreNotFiniteAndNegativeStepsSurvive) {
  const TemporaryFolder folder;
  TensorBoardWriter writer(folder / "", 5);
  writer.scalar("a", std::numeric_limits<double>::quiet_NaN(), -3, 6);
  writer.scalar("a", -std::numeric_limits<double>::infinity(), 2, 6);
  writer.flush();
  const auto events = decode(writer.path());
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_TRUE(std::isnan(events[1].value.value()));
  EXPECT_EQ(events[1].step, -3);
  EXPECT_EQ(events[2].value, -std::numeric_limits<float>::infinity());
}

TEST(TensorBoard, NameTellsTimeHostAndProcess) {
  const TemporaryFolder folder;
  const TensorBoardWriter writer(folder / "", 1700000000.9);
  ASSERT_THAT(folder.names(), SizeIs(1));
  EXPECT_THAT(folder.names()[0], StartsWith("events.out.tfevents.1700000000."));
  EXPECT_TRUE(folder.names()[0].ends_with("." + std::to_string(getpid())));
}

TEST(TensorBoard, ResumedRunWritesAnotherFile) {
  const TemporaryFolder folder;
  std::string first;
  {
    TensorBoardWriter writer(folder / "", 100);
    writer.scalar("loss", 1, 1, 100);
    first = writer.path();
  }
  TensorBoardWriter writer(folder / "", 100);
  writer.scalar("loss", 2, 2, 101);
  writer.flush();
  EXPECT_NE(writer.path(), first);
  EXPECT_THAT(folder.names(), SizeIs(2));
  EXPECT_THAT(decode(first), SizeIs(2));  // the destructor has flushed
  EXPECT_THAT(decode(writer.path()), SizeIs(2));
}

TEST(TensorBoard, ManyScalarsReachTheFileWithoutAFlush) {
  const TemporaryFolder folder;
  TensorBoardWriter writer(folder / "", 100);
  for (int64_t step = 0; step < 5000; ++step) writer.scalar("loss", 1, step, 100);
  EXPECT_GT(decode(writer.path()).size(), 3000u);
  writer.flush();
  const auto events = decode(writer.path());
  ASSERT_THAT(events, SizeIs(5001));
  for (size_t i = 1; i < events.size(); ++i) ASSERT_EQ(events[i].step, static_cast<int64_t>(i) - 1);
}

TEST(TensorBoard, FolderThatCannotBeWrittenIsASentence) {
  const TemporaryFolder folder;
  testing::write_file(folder / "file", "");
  EXPECT_SENTENCE(TensorBoardWriter(folder / "file", 1), "file: this folder for TensorBoard cannot be made");
  EXPECT_SENTENCE(TensorBoardWriter(folder / "file/below", 1), "this folder for TensorBoard cannot be made");
  EXPECT_SENTENCE(TensorBoardWriter("", 1), "is empty");
  EXPECT_SENTENCE(TensorBoardWriter("/proc/self", 1), "cannot be written");
}

TEST(TensorBoard, FullDiskIsASentenceAndLosesNothing) {
  const TemporaryFolder folder;
  TensorBoardWriter writer(folder / "", 1);
  writer.scalar("loss", 1, 1, 1);
  writer.flush();
  // A limit on the size of files stands for the end of the disk; it falls inside of a record.
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto size = static_cast<rlim_t>(std::filesystem::file_size(writer.path()));
  const rlimit tight = {size + 10, old.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  writer.scalar("loss", 2, 2, 2);
  EXPECT_SENTENCE(writer.flush(), "cannot be written: File too large");
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(decode(writer.path()), SizeIs(2));
  writer.flush();
  const auto events = decode(writer.path());
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[2].step, 2);
}

}  // namespace
}  // namespace lact::train
