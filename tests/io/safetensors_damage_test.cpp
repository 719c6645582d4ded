// Files that are not what the format prescribes are refused in a sentence, whatever is wrong with them.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "io/safetensors_bytes.h"
#include "lact/base/error.h"
#include "lact/io/safetensors.h"
#include "support/temporary_folder.h"

namespace lact::io {
namespace {

using testing::file_of;
using ::testing::HasSubstr;
using testing::length_prefix;
using testing::read_file;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using testing::write_file;

std::string read_refusal(const std::string& bytes) {
  TemporaryFolder folder;
  const std::string path = folder / "bad.safetensors";
  write_file(path, bytes);
  const std::string sentence = testing::sentence_of<Error>([&] { read_safetensors(path); });
  if (!sentence.empty()) {
    EXPECT_THAT(sentence, StartsWith(path + ": "));
  }
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

struct Malformed {
  const char* header;
  size_t data_bytes;
  const char* sentence;  // part of the error
};

class MalformedSafetensors : public ::testing::TestWithParam<Malformed> {};

TEST_P(MalformedSafetensors, IsRefusedInASentence) {
  const auto& [header, data_bytes, sentence] = GetParam();
  EXPECT_THAT(read_refusal(file_of(header, std::string(data_bytes, '\0'))), HasSubstr(sentence));
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
    EXPECT_NE(read_refusal(bytes.substr(0, length)), "") << "cut at byte " << length;
  }
  EXPECT_NE(read_refusal(bytes.substr(0, bytes.size() - 1)), "");
  EXPECT_NE(read_refusal(bytes + '\0'), "");
  EXPECT_EQ(read_refusal(bytes), "");
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
  EXPECT_THAT(read_refusal(length_prefix(std::numeric_limits<uint64_t>::max()) + header),
              HasSubstr("expected at most"));
  EXPECT_THAT(read_refusal(length_prefix(uint64_t{1} << 63) + header), HasSubstr("expected at most"));
  EXPECT_THAT(read_refusal(length_prefix(100'000'001) + header),
              HasSubstr("the header length is 100000001, expected at most 100000000"));
  EXPECT_THAT(read_refusal(length_prefix(9) + header),
              HasSubstr("the header length is 9, but only 8 bytes follow it"));
  EXPECT_THAT(read_refusal("short"), HasSubstr("the file has 5 bytes, expected at least 8"));
}

TEST(SafetensorsDamage, AZeroByteDoesNotHideTheRestOfTheHeader) {
  EXPECT_THAT(read_refusal(file_of(std::string("{}\0garbage", 10))),
              HasSubstr("not valid JSON at its byte 3"));
}

TEST(SafetensorsDamage, DeepNestingAndManyDimensionsAreRefused) {
  EXPECT_THAT(read_refusal(file_of("{\"a\":" + std::string(100'000, '['))), HasSubstr("holds a list"));
  std::string ones = "1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  EXPECT_THAT(read_refusal(
                  file_of("{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1],\"shape\":[" + ones + "]}}", "x")),
              HasSubstr("a list of more than 64"));
}

TEST(SafetensorsDamage, ABoolOtherThanZeroAndOneIsRefused) {
  EXPECT_THAT(read_refusal(file_of(R"({"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", "\x01\x02")),
              HasSubstr("tensor \"a\" of dtype BOOL holds the byte 2"));
}

TEST(SafetensorsDamage, LongAndStrangeNamesAreShortenedInTheSentence) {
  const std::string sentence = read_refusal(file_of("{\"" + std::string(10'000, 'n') + "\\u001b[31m\":1}"));
  EXPECT_THAT(sentence, HasSubstr("nnn...\""));
  EXPECT_LT(sentence.size(), 400u);
  EXPECT_THAT(read_refusal(file_of("{\"\\u001b[31m\":1}")), HasSubstr("\\u001b[31m"));
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
  EXPECT_NE(read_refusal(length_prefix(90'000'000'000) + "{}"), "");
  EXPECT_NE(read_refusal(length_prefix(99'000'000) + "{}"), "");
  EXPECT_NE(read_refusal(
                file_of(R"({"a":{"dtype":"U8","shape":[68719476736],"data_offsets":[0,68719476736]}})", "x")),
            "");
  EXPECT_NE(read_refusal(file_of(R"({"a":{"dtype":"U8","shape":[68719476736],"data_offsets":[0,1]}})", "x")),
            "");
  EXPECT_LT(peak_memory() - before, size_t{64} << 20);
}

}  // namespace
}  // namespace lact::io
