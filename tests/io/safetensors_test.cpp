#include "lact/io/safetensors.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "lact/base/error.h"
#include "support/temporary_folder.h"

namespace lact::io {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::read_file;
using ::testing::StartsWith;
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

std::string length_prefix(uint64_t length) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes;
}

/// The bytes of a file, right or wrong.
std::string file_of(const std::string& header, const std::string& data = "") {
  return length_prefix(header.size()) + header + data;
}

std::string refusal(const std::string& bytes) {
  TemporaryFolder folder;
  const std::string path = folder / "bad.safetensors";
  write_file(path, bytes);
  const std::string sentence = testing::sentence_of<Error>([&] { read_safetensors(path); });
  if (!sentence.empty()) {
    EXPECT_THAT(sentence, StartsWith(path + ": "));
  }
  return sentence;
}

std::string refused_write(const TensorFile& file) {
  TemporaryFolder folder;
  const std::string sentence =
      testing::sentence_of<Error>([&] { write_safetensors(folder / "a.safetensors", file); });
  EXPECT_THAT(folder.names(), IsEmpty());
  return sentence;
}

/// A valid file with several types, an empty tensor, a scalar and metadata.
std::string sample_bytes() {
  TemporaryFolder folder;
  write_safetensors(folder / "a", {{{"weight", at::arange(6, at::kFloat).view({2, 3})},
                                    {"empty", at::empty({0, 4}, at::kLong)},
                                    {"scalar", at::scalar_tensor(2.5, at::kDouble)},
                                    {"flags", at::ones({3}, at::kBool)}},
                                   {{"kind", "sample"}, {"version", "1"}}});
  return read_file(folder / "a");
}

size_t header_end(const std::string& bytes) {
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  return 8 + length;
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

struct Malformed {
  const char* header;
  size_t data_bytes;
  const char* sentence;  // part of the error
};

class MalformedSafetensors : public ::testing::TestWithParam<Malformed> {};

TEST_P(MalformedSafetensors, IsRefusedInASentence) {
  const auto& [header, data_bytes, sentence] = GetParam();
  EXPECT_THAT(refusal(file_of(header, std::string(data_bytes, '\0'))), HasSubstr(sentence));
}

INSTANTIATE_TEST_SUITE_P(
    Offsets, MalformedSafetensors,
    ::testing::Values(
        Malformed{
            R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
            6, "tensor \"b\" begins at byte 2 of the data, expected 4: it overlaps another"},
        Malformed{
            R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
            4, "it overlaps another"},
        Malformed{
            R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}})",
            4, "it overlaps another"},
        Malformed{
            R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
            6, "tensor \"b\" begins at byte 2 of the data, expected 1: there is a gap"},
        Malformed{R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[1,5]}})", 5, "there is a gap"},
        Malformed{R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 3,
                  "tensor \"a\" has data_offsets [0, 4], expected a range within the 3 bytes of data"},
        Malformed{R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}})", 4, "has data_offsets [4, 0]"},
        Malformed{R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 5,
                  "holds 5 bytes of data, expected 4"},
        Malformed{R"({})", 1, "holds 1 bytes of data, expected 0"},
        Malformed{R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[-4,0]}})", 4,
                  "data_offsets of tensor \"a\" holds -4"},
        Malformed{R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4,8]}})", 4, "a list of more than 2"},
        Malformed{R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[4]}})", 4,
                  "a list of 1, expected a list of two"},
        Malformed{R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,18446744073709551615]}})", 4,
                  "holds 18446744073709551615"}));

INSTANTIATE_TEST_SUITE_P(
    ShapesAndTypes, MalformedSafetensors,
    ::testing::Values(
        Malformed{R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4,
                  "tensor \"a\" takes 4 bytes in its data_offsets, expected 8 for its shape [2]"},
        Malformed{R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,0]}})", 0, "takes 0 bytes"},
        Malformed{R"({"a":{"dtype":"U8","shape":[1099511627776],"data_offsets":[0,1099511627776]}})", 4,
                  "within the 4 bytes of data"},
        Malformed{R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0,
                  "has shape [4294967296, 4294967296], expected a size below 2^63 bytes"},
        Malformed{R"({"a":{"dtype":"U8","shape":[0,4294967296,4294967296],"data_offsets":[0,0]}})", 0,
                  "below 2^63 bytes"},
        Malformed{R"({"a":{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}})", 0,
                  "below 2^63 bytes"},
        Malformed{R"({"a":{"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,0]}})", 0,
                  "shape of tensor \"a\" holds 9223372036854775808"},
        Malformed{R"({"a":{"dtype":"U8","shape":[99999999999999999999],"data_offsets":[0,0]}})", 0,
                  "holds 99999999999999999999"},
        Malformed{R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1,
                  "shape of tensor \"a\" holds -1"},
        Malformed{R"({"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})", 1,
                  "holds 1.0, expected a list of"},
        Malformed{R"({"a":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}})", 1,
                  "shape of tensor \"a\" holds a list"},
        Malformed{R"({"a":{"dtype":"U8","shape":"1","data_offsets":[0,1]}})", 1,
                  "shape of tensor \"a\" holds \"1\""},
        Malformed{R"({"a":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}})", 4,
                  "tensor \"a\" has dtype \"F33\", expected one of F64, F32"},
        Malformed{R"({"a":{"dtype":"f32","shape":[1],"data_offsets":[0,4]}})", 4, "has dtype \"f32\""},
        Malformed{R"({"a":{"dtype":4,"shape":[1],"data_offsets":[0,4]}})", 4,
                  "dtype of tensor \"a\" holds 4, expected a string"}));

INSTANTIATE_TEST_SUITE_P(
    Structure, MalformedSafetensors,
    ::testing::Values(
        Malformed{"", 0, "opening brace"}, Malformed{"[]", 0, "opening brace"},
        Malformed{" {}", 0, "opening brace"}, Malformed{"{", 0, "not valid JSON at its byte"},
        Malformed{"{}x", 0, "not valid JSON at its byte 3"}, Malformed{"{}{}", 0, "not valid JSON"},
        Malformed{"{NaN:1}", 0, "not valid JSON"}, Malformed{R"({"a":NaN})", 0, "not valid JSON"},
        Malformed{R"({"a":1e999})", 0, "not valid JSON"}, Malformed{"{\"\xff\":{}}", 0, "not valid JSON"},
        Malformed{"{'a':{}}", 0, "not valid JSON"},
        Malformed{R"({"a":1})", 0, "the entry \"a\" holds 1, expected an object"},
        Malformed{R"({"a":null})", 0, "the entry \"a\" holds null"},
        Malformed{R"({"a":[]})", 0, "the entry \"a\" holds a list"},
        Malformed{R"({"a":{}})", 0, "tensor \"a\" has no dtype"},
        Malformed{R"({"a":{"dtype":"U8","data_offsets":[0,0]}})", 0, "tensor \"a\" has no shape"},
        Malformed{R"({"a":{"dtype":"U8","shape":[0]}})", 0, "tensor \"a\" has no data_offsets"},
        Malformed{R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"strides":[1]}})", 0,
                  "tensor \"a\" has the field \"strides\""},
        Malformed{R"({"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})", 0,
                  "dtype of tensor \"a\" occurs twice"},
        Malformed{
            R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
            0, "\"a\" occurs twice"},
        Malformed{R"({"__metadata__":{},"__metadata__":{}})", 0, "\"__metadata__\" occurs twice"},
        Malformed{R"({"__metadata__":{"k":"1","k":"2"}})", 0, "metadata \"k\" occurs twice"},
        Malformed{R"({"__metadata__":{"k":1}})", 0, "metadata \"k\" holds 1, expected a string"},
        Malformed{R"({"__metadata__":{"k":{}}})", 0, "metadata \"k\" holds an object"},
        Malformed{R"({"__metadata__":"text"})", 0, "the entry \"__metadata__\" holds \"text\""}));

TEST(SafetensorsDamage, AFileCutAtAnyPlaceIsRefused) {
  const std::string bytes = sample_bytes();
  const size_t end = header_end(bytes);
  for (size_t length = 0; length < bytes.size(); length += length < end + 4 ? 1 : 5) {
    EXPECT_NE(refusal(bytes.substr(0, length)), "") << "cut at byte " << length;
  }
  EXPECT_NE(refusal(bytes.substr(0, bytes.size() - 1)), "");
  EXPECT_NE(refusal(bytes + '\0'), "");
  EXPECT_EQ(refusal(bytes), "");
}

TEST(SafetensorsDamage, FlippedBytesAreRefusedOrReadButNeverCrash) {
  const std::string bytes = sample_bytes();
  TemporaryFolder folder;
  write_file(folder / "a", bytes);
  std::fstream file(folder / "a", std::ios::in | std::ios::out | std::ios::binary);
  const auto set = [&](size_t place, char byte) {
    file.seekp(static_cast<std::streamoff>(place)).put(byte).flush();
  };
  size_t refused = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const int mask : {0x01, 0x08, 0x80, 0xff}) {
      set(i, static_cast<char>(bytes[i] ^ mask));
      refused += !testing::sentence_of<Error>([&] { read_safetensors(folder / "a"); }).empty();
    }
    set(i, bytes[i]);
  }
  EXPECT_GT(refused, header_end(bytes) * 2);  // what remains are other names, words and numbers
  EXPECT_NO_THROW(read_safetensors(folder / "a"));
}

TEST(SafetensorsDamage, HeaderLengthsBeyondTheFileOrTheLimitAreRefused) {
  const std::string header = "{}      ";
  EXPECT_THAT(refusal(length_prefix(std::numeric_limits<uint64_t>::max()) + header),
              HasSubstr("expected at most"));
  EXPECT_THAT(refusal(length_prefix(uint64_t{1} << 63) + header), HasSubstr("expected at most"));
  EXPECT_THAT(refusal(length_prefix(100'000'001) + header),
              HasSubstr("the header length is 100000001, expected at most 100000000"));
  EXPECT_THAT(refusal(length_prefix(9) + header),
              HasSubstr("the header length is 9, but only 8 bytes follow it"));
  EXPECT_THAT(refusal("short"), HasSubstr("the file has 5 bytes, expected at least 8"));
}

TEST(SafetensorsDamage, AZeroByteDoesNotHideTheRestOfTheHeader) {
  EXPECT_THAT(refusal(file_of(std::string("{}\0garbage", 10))), HasSubstr("not valid JSON at its byte 3"));
}

TEST(SafetensorsDamage, DeepNestingAndManyDimensionsAreRefused) {
  EXPECT_THAT(refusal(file_of("{\"a\":" + std::string(100'000, '['))), HasSubstr("holds a list"));
  std::string ones = "1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  EXPECT_THAT(
      refusal(file_of("{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1],\"shape\":[" + ones + "]}}", "x")),
      HasSubstr("a list of more than 64"));
}

TEST(SafetensorsDamage, ABoolOtherThanZeroAndOneIsRefused) {
  EXPECT_THAT(refusal(file_of(R"({"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", "\x01\x02")),
              HasSubstr("tensor \"a\" of dtype BOOL holds the byte 2"));
}

TEST(SafetensorsDamage, LongAndStrangeNamesAreShortenedInTheSentence) {
  const std::string sentence = refusal(file_of("{\"" + std::string(10'000, 'n') + "\\u001b[31m\":1}"));
  EXPECT_THAT(sentence, HasSubstr("nnn...\""));
  EXPECT_LT(sentence.size(), 400u);
  EXPECT_THAT(refusal(file_of("{\"\\u001b[31m\":1}")), HasSubstr("\\u001b[31m"));
}

/// Peak of this process's address space in bytes.
size_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmPeak:", 0) == 0) return std::stoull(line.substr(7)) * 1024;
  }
  return 0;
}

TEST(SafetensorsDamage, BogusSizesTakeNoMemory) {
  const size_t before = peak_memory();
  EXPECT_NE(refusal(length_prefix(90'000'000'000) + "{}"), "");
  EXPECT_NE(refusal(length_prefix(99'000'000) + "{}"), "");
  EXPECT_NE(
      refusal(file_of(R"({"a":{"dtype":"U8","shape":[68719476736],"data_offsets":[0,68719476736]}})", "x")),
      "");
  EXPECT_NE(refusal(file_of(R"({"a":{"dtype":"U8","shape":[68719476736],"data_offsets":[0,1]}})", "x")), "");
  EXPECT_LT(peak_memory() - before, size_t{64} << 20);
}

}  // namespace
}  // namespace lact::io
