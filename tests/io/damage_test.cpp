// Damaged pictures and tensor files.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "lact/io/image.h"
#include "lact/io/jpeg.h"
#include "lact/io/png.h"
#include "lact/io/safetensors.h"
#include "lact/io/safetensors_header.h"
#include "lact/io/tensor_folder.h"
#include "support/damage.h"
#include "support/temporary_folder.h"

namespace lact::io {
namespace {

using testing::expect_values_or_sentences;
using testing::read_file;
using testing::TemporaryFolder;
using testing::write_file;

constexpr int kCases = 400;

at::Tensor waves() {
  const at::Tensor rows = at::arange(24, at::kFloat).reshape({24, 1, 1}) / 9;
  const at::Tensor columns = at::arange(40, at::kFloat).reshape({1, 40, 1}) / 7;
  return (128 + 100 * at::sin(rows + columns + at::arange(3, at::kFloat))).to(at::kByte);
}

TEST(Damage, OfPng) {
  const TemporaryFolder folder;
  write_png(folder / "a.png", waves());
  const auto read = [](const std::string& bytes) {
    decode_image_size(bytes, "a.png");
    decode_image(bytes, "a.png");
  };
  expect_values_or_sentences(read_file(folder / "a.png"), kCases, read);
}

TEST(Damage, OfJpeg) {
  const auto read = [](const std::string& bytes) {
    decode_image_size(bytes, "a.jpg");
    decode_image(bytes, "a.jpg");
  };
  expect_values_or_sentences(encode_jpeg(waves(), 90), kCases, read);
}

TEST(Damage, OfSafetensors) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.safetensors";
  write_safetensors(path, {{{"a", at::randn({2, 3})}, {"b", at::arange(4)}, {"c", at::ones({3}, at::kBool)}},
                           {{"kind", "test"}}});
  const auto read = [&](const std::string& bytes) {
    write_file(path, bytes);
    read_safetensors_metadata(path);
    for (const auto& [name, tensor] : read_safetensors(path).tensors) tensor.sum();
  };
  expect_values_or_sentences(read_file(path), kCases, read);
}

TEST(Damage, OfTheHeaderAloneWhereMostOfItIs) {
  const std::string good =
      R"({"__metadata__":{"a":"b"},"x":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"y":{"dtype":"U8","shape":[0],"data_offsets":[24,24]}})";
  const auto read = [](const std::string& json) { parse_safetensors_header("a.safetensors", json, 24); };
  expect_values_or_sentences(good, 4 * kCases, read);
}

TEST(Damage, OfTheIndexOfAFolder) {
  const TemporaryFolder folder;
  const std::map<std::string, at::Tensor> tensors = {{"a", at::randn({64})}, {"b", at::randn({64})}};
  write_tensor_folder(folder / "", tensors, /*largest_shard=*/256);
  const std::string index = folder / "model.safetensors.index.json";
  const auto read = [&](const std::string& bytes) {
    write_file(index, bytes);
    read_tensor_folder(folder / "");
  };
  expect_values_or_sentences(read_file(index), kCases, read);
}

}  // namespace
}  // namespace lact::io
