#include "lact/io/safetensors.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "io/safetensors_bytes.h"
#include "lact/base/error.h"
#include "support/temporary_folder.h"

namespace lact::io {
namespace {

using ::testing::ElementsAre;
using testing::file_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::read_file;
using testing::TemporaryFolder;
using testing::write_file;

void expect_equal(const at::Tensor& read, const at::Tensor& written) {
  EXPECT_EQ(read.scalar_type(), written.scalar_type());
  EXPECT_EQ(read.sizes(), written.sizes());
  EXPECT_TRUE(at::equal(read, written.detach()));
}

TensorFile round_trip(const TensorFile& file) {
  TemporaryFolder folder;
  write_safetensors(folder / "a.safetensors", file);
  EXPECT_THAT(folder.names(), ElementsAre("a.safetensors"));
  return read_safetensors(folder / "a.safetensors");
}

std::string refused_write(const TensorFile& file) {
  TemporaryFolder folder;
  const std::string sentence =
      testing::sentence_of<Error>([&] { write_safetensors(folder / "a.safetensors", file); });
  EXPECT_THAT(folder.names(), IsEmpty());
  return sentence;
}

TEST(Safetensors, EveryTypeComesBackBitForBit) {
  TensorFile file;
  for (const auto dtype : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong, at::kInt, at::kShort,
                           at::kChar, at::kByte, at::kBool}) {
    const std::string name = toString(dtype);
    file.tensors[name + ".matrix"] = at::arange(-7, 8, at::kFloat).view({3, 5}).to(at::kLong).to(dtype);
    file.tensors[name + ".scalar"] = at::scalar_tensor(1, dtype);
    file.tensors[name + ".empty"] = at::empty({2, 0, 3}, dtype);
    file.tensors[name + ".odd"] = at::ones({3}, dtype);
  }
  const TensorFile read = round_trip(file);
  ASSERT_EQ(read.tensors.size(), file.tensors.size());
  for (const auto& [name, tensor] : file.tensors) {
    SCOPED_TRACE(name);
    expect_equal(read.tensors.at(name), tensor);
  }
}

TEST(Safetensors, SpecialValuesKeepTheirBits) {
  at::Tensor values = at::empty({5}, at::kFloat);
  const uint32_t bits[5] = {0x7fc01234, 0xff800000, 0x80000000, 0x00000001, 0x7f7fffff};
  std::memcpy(values.data_ptr(), bits, sizeof bits);
  const at::Tensor read = round_trip({{{"x", values}}, {}}).tensors.at("x");
  EXPECT_EQ(std::memcmp(read.data_ptr(), bits, sizeof bits), 0);
}

TEST(Safetensors, MetadataAndUnusualNamesComeBack) {
  const TensorFile file = {
      {{"", at::ones({1})}, {"a \"b\"\\\n\u00e9\u4e2d", at::zeros({2})}, {"a", at::ones({3})}},
      {{"kind", "checkpoint"}, {"", "empty key"}, {"note", "line\nbreak \u2713"}}};
  const TensorFile read = round_trip(file);
  EXPECT_EQ(read.metadata, file.metadata);
  for (const auto& [name, tensor] : file.tensors) expect_equal(read.tensors.at(name), tensor);
}

TEST(Safetensors, MetadataCanBeReadAlone) {
  const TemporaryFolder folder;
  const TensorFile file = {{{"a", at::ones({3})}}, {{"kind", "note"}}};
  write_safetensors(folder / "x", file);
  EXPECT_EQ(read_safetensors_metadata(folder / "x"), file.metadata);
}

TEST(Safetensors, AFileMayBeEmptyOrHoldMetadataAlone) {
  EXPECT_TRUE(round_trip({}).tensors.empty());
  EXPECT_EQ(round_trip({{}, {{"kind", "note"}}}).metadata.at("kind"), "note");
}

TEST(Safetensors, ViewsAndParametersAreWrittenAsTheirValues) {
  const at::Tensor base = at::arange(24, at::kFloat).view({4, 6});
  const TensorFile file = {{{"transposed", base.t()},
                            {"strided", base.slice(1, 1, 6, 2)},
                            {"expanded", base.slice(0, 0, 1).expand({3, 6})},
                            {"negated", at::imag(at::conj(at::view_as_complex(base.view({12, 2}))))},
                            {"parameter", at::ones({2, 2}).requires_grad_()}},
                           {}};
  const TensorFile read = round_trip(file);
  for (const auto& [name, tensor] : file.tensors) {
    SCOPED_TRACE(name);
    expect_equal(read.tensors.at(name), tensor);
    EXPECT_FALSE(read.tensors.at(name).requires_grad());
  }
}

TEST(Safetensors, TensorsOutliveTheFile) {
  TensorFile read;
  {
    TemporaryFolder folder;
    write_safetensors(folder / "a", {{{"x", at::arange(1000)}}, {}});
    read = read_safetensors(folder / "a");
  }
  read.tensors.at("x").add_(1);
  EXPECT_EQ(read.tensors.at("x").sum().item<int64_t>(), 500'500);
}

TEST(Safetensors, ReadsTheBytesThatTheFormatPrescribes) {
  TemporaryFolder folder;
  write_file(
      folder / "a",
      file_of(R"({"__metadata__":{"format":"pt"},"b":{"dtype":"I16","shape":[2],"data_offsets":[4,8]},)"
              R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   )",
              std::string("\x00\x00\x80\x3f\x01\x00\xff\xff", 8)));
  const TensorFile file = read_safetensors(folder / "a");
  EXPECT_EQ(file.metadata.at("format"), "pt");
  expect_equal(file.tensors.at("a"), at::scalar_tensor(1.0, at::kFloat));
  expect_equal(file.tensors.at("b"), at::tensor({1, -1}, at::kShort));
}

TEST(Safetensors, WritesTheBytesThatTheFormatPrescribes) {
  TemporaryFolder folder;
  write_safetensors(folder / "a", {{{"w", at::tensor({1, 2}, at::kByte)}}, {{"k", "v"}}});
  const std::string header =
      R"({"__metadata__":{"k":"v"},"w":{"data_offsets":[0,2],"dtype":"U8","shape":[2]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(read_file(folder / "a"), file_of(padded, "\x01\x02"));
}

TEST(Safetensors, TensorsOfMixedTypesAreAligned) {
  TemporaryFolder folder;
  write_safetensors(folder / "a", {{{"a", at::ones({3}, at::kByte)}, {"b", at::ones({1}, at::kDouble)}}, {}});
  EXPECT_THAT(read_file(folder / "a"), HasSubstr(R"("a":{"data_offsets":[8,11])"));
}

TEST(Safetensors, RefusesToWriteWhatTheFormatCannotHold) {
  EXPECT_THAT(refused_write({{{"x", at::Tensor()}}, {}}), HasSubstr("tensor \"x\" is undefined"));
  EXPECT_THAT(refused_write({{{"x", at::ones({2}, at::kComplexFloat)}}, {}}),
              HasSubstr("tensor \"x\" has dtype ComplexFloat"));
  EXPECT_THAT(refused_write({{{"x", at::eye(3).to_sparse()}}, {}}), HasSubstr("tensor \"x\" is sparse"));
  EXPECT_THAT(refused_write({{{"x", at::empty({2}, at::device(at::kMeta))}}, {}}), HasSubstr("without data"));
  EXPECT_THAT(refused_write({{{"__metadata__", at::ones({2})}}, {}}), HasSubstr("__metadata__"));
  EXPECT_THAT(refused_write({{{"\xff", at::ones({2})}}, {}}), HasSubstr("not valid UTF-8"));
  EXPECT_THAT(refused_write({{}, {{"key", "\xc3"}}}), HasSubstr("not valid UTF-8"));
}

TEST(Safetensors, AFailedWriteLeavesNoFile) {
  TemporaryFolder folder;
  const TensorFile file = {{{"x", at::ones({2})}}, {}};
  const auto refused = [&](const std::string& path) {
    return testing::sentence_of<Error>([&] { write_safetensors(path, file); });
  };
  EXPECT_THAT(refused(folder / "missing/a"), HasSubstr("does not exist"));
  std::filesystem::create_directory(folder / "folder");
  EXPECT_THAT(refused(folder / "folder"), HasSubstr("it is a folder"));
  EXPECT_THAT(folder.names(), ElementsAre("folder"));
}

TEST(Safetensors, WhatIsNotAFileIsRefused) {
  TemporaryFolder folder;
  const auto refused = [&](const std::string& path) {
    return testing::sentence_of<Error>([&] { read_safetensors(path); });
  };
  EXPECT_THAT(refused(folder / "missing"), HasSubstr("does not exist"));
  EXPECT_THAT(refused(folder / ""), HasSubstr("is a folder, expected a file"));
  EXPECT_THAT(refused("/dev/zero"), HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace lact::io
