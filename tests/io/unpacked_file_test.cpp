#include "lact/io/unpacked_file.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::io {

namespace {

using testing::TemporaryFolder;
using testing::write_file;

std::string zstd(const std::string& bytes) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 3));
  return packed;
}

std::string read_all(const std::string& path, size_t most = 1 << 16) {
  UnpackedFile file(path);
  std::string all;
  for (std::string block;;) {
    file.read(block, most);
    if (block.empty()) return all;
    EXPECT_LE(block.size(), most);
    all += block;
  }
}

/// Does not shrink to nothing, so that damage is likely to be seen.
std::string noise(size_t count) {
  std::string bytes(count, '\0');
  uint32_t state = 1;
  for (char& byte : bytes) byte = char('a' + ((state = state * 1664525 + 1013904223) >> 28));
  return bytes;
}

TEST(UnpackedFile, ZstdIsKnownByItsContentsAndReadInAnyBlocks) {
  const TemporaryFolder folder;
  const std::string text = noise(300000);
  write_file(folder / "a.txt", zstd(text));
  for (const size_t most : {size_t{1000}, size_t{1} << 16, size_t{1} << 20})
    EXPECT_TRUE(read_all(folder / "a.txt", most) == text);
  write_file(folder / "few.zst", zstd("hello"));
  EXPECT_EQ(read_all(folder / "few.zst", 1), "hello");
  write_file(folder / "plain.zst", "hello");
  EXPECT_EQ(read_all(folder / "plain.zst"), "hello");
}

TEST(UnpackedFile, FramesFollowEachOther) {
  const TemporaryFolder folder;
  write_file(folder / "a.zst", zstd("one, ") + zstd("") + zstd("two"));
  EXPECT_EQ(read_all(folder / "a.zst"), "one, two");
}

TEST(UnpackedFile, DamagedZstdIsASentence) {
  const TemporaryFolder folder;
  const std::string whole = zstd(noise(300000));
  for (const size_t length : {size_t{5}, size_t{100}, whole.size() / 2, whole.size() - 1}) {
    write_file(folder / "cut.zst", whole.substr(0, length));
    EXPECT_SENTENCE(read_all(folder / "cut.zst"), "cut.zst: the zst file ends in the middle");
  }
  write_file(folder / "more.zst", whole + "more");
  EXPECT_SENTENCE(read_all(folder / "more.zst"), "more.zst: the zst file cannot be unpacked: ");
}

TEST(UnpackedFile, AWindowOfGigabytesIsRefused) {
  const TemporaryFolder folder;
  // A frame's header that asks for a window of 2 GB, as `zstd --ultra --long=31` writes it.
  write_file(folder / "long.zst", std::string("\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00", 9));
  EXPECT_SENTENCE(read_all(folder / "long.zst"), "long.zst: the zst file cannot be unpacked: ");
}

TEST(UnpackedFile, SaysWhetherAFileIsPacked) {
  const TemporaryFolder folder;
  write_file(folder / "a", zstd("hello"));
  write_file(folder / "b", "\x1f\x8b");
  write_file(folder / "c", "hello");
  write_file(folder / "d", "");
  EXPECT_TRUE(is_packed(folder / "a"));
  EXPECT_TRUE(is_packed(folder / "b"));
  EXPECT_FALSE(is_packed(folder / "c"));
  EXPECT_FALSE(is_packed(folder / "d"));
}

}  // namespace

}  // namespace lact::io
