#include "lact/io/mapped_file.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "io/safetensors_bytes.h"
#include "lact/base/memory_use.h"
#include "lact/io/safetensors.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::io {
namespace {

using testing::file_of;
using testing::read_file;
using testing::TemporaryFolder;
using testing::write_file;

TEST(MappedFile, ShowsTheBytesAndKeepsTheFileAsItIs) {
  TemporaryFolder folder;
  const std::string bytes(10'000, 'x');
  write_file(folder / "a", bytes);
  const MappedFile file(folder / "a");
  ASSERT_EQ(file.size(), bytes.size());
  EXPECT_EQ(std::memcmp(file.data(), bytes.data(), bytes.size()), 0);
  std::memset(file.data(), 'y', bytes.size());
  EXPECT_EQ(read_file(folder / "a"), bytes);
  // Whole pages come from the file again, the rest stays as it was written.
  file.release(1, 9'000);
  EXPECT_EQ(file.data()[0], 'y');
  EXPECT_EQ(file.data()[4096], 'x');
  EXPECT_EQ(file.data()[8999], 'y');
}

TEST(MappedFile, WhatIsNotAFileIsASentence) {
  TemporaryFolder folder;
  EXPECT_SENTENCE(MappedFile(folder / "missing"), "does not exist");
  EXPECT_SENTENCE(MappedFile("/dev/zero"), "not a regular file");
  write_file(folder / "empty", "");
  EXPECT_EQ(MappedFile(folder / "empty").size(), 0u);
}

TEST(MappedSafetensors, AFileThatIsReplacedStaysReadable) {
  TemporaryFolder folder;
  const at::Tensor before = at::arange(100'000);
  write_safetensors(folder / "a", {{{"x", before}}, {}});
  const at::Tensor mapped = read_safetensors(folder / "a").tensors.at("x");
  write_safetensors(folder / "a", {{{"x", at::zeros({5})}}, {}});
  EXPECT_TRUE(mapped.equal(before));
}

TEST(MappedSafetensors, NumbersWhereAProcessorMayNotReadThemAreCopied) {
  TemporaryFolder folder;
  const std::string header = R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                             R"("x":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})";
  for (size_t spaces = 0; spaces < 8; ++spaces) {
    write_file(folder / "a", file_of(header + std::string(spaces, ' '),
                                     std::string("\x05\x00\x00\x80\x3f\x00\x00\x00\x40", 9)));
    const auto tensors = read_safetensors(folder / "a").tensors;
    EXPECT_TRUE(tensors.at("x").equal(at::tensor({1.f, 2.f}))) << spaces;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensors.at("x").data_ptr()) % 4, 0u) << spaces;
    EXPECT_EQ(tensors.at("b").item<int64_t>(), 5);
  }
}

TEST(MappedSafetensors, TakesMemoryForWhatIsReadAndGivesItBack) {
  TemporaryFolder folder;
  constexpr int64_t kBytes = int64_t(64) << 20;
  write_safetensors(folder / "a", {{{"x", at::ones({kBytes / 8})}, {"y", at::ones({kBytes / 8})}}, {}});
  const int64_t start = resident_bytes();
  auto file = read_safetensors(folder / "a");
  EXPECT_LT(resident_bytes() - start, kBytes / 8);
  EXPECT_EQ(file.tensors.at("x").sum().item<double>(), double(kBytes / 8));
  EXPECT_GT(resident_bytes() - start, kBytes / 4);
  file.tensors.erase("x");
  EXPECT_LT(resident_bytes() - start, kBytes / 8);
  EXPECT_EQ(file.tensors.at("y").sum().item<double>(), double(kBytes / 8));
}

}  // namespace
}  // namespace lact::io
