// Damaged cameras, meshes, tokenizers, texts and lists of clips.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>

#include "data/text/sample_text.h"
#include "lact/data/clips/clip_files.h"
#include "lact/data/text/sentencepiece_model.h"
#include "lact/data/text/text_file.h"
#include "lact/data/text/token_array.h"
#include "lact/data/text/tokenizer.h"
#include "lact/data/views/camera_file.h"
#include "lact/data/views/capture.h"
#include "lact/data/views/load_views.h"
#include "lact/data/views/tracer/obj.h"
#include "lact/io/png.h"
#include "support/damage.h"
#include "support/temporary_folder.h"

namespace lact::data {
namespace {

namespace fs = std::filesystem;
using testing::expect_values_or_sentences;
using testing::read_file;
using testing::TemporaryFolder;
using testing::write_file;

constexpr int kCases = 300;

class DamagedViews : public ::testing::Test {
 protected:
  DamagedViews() {
    fs::create_directories(folder_ / "images");
    io::write_png(folder_ / "a.png", at::full({8, 8, 3}, 100, at::kByte));
    fs::copy_file(folder_ / "a.png", folder_ / "images/a.png");
  }
  /// Reads the cameras, and the pictures through them.
  void load(const std::string& path) {
    const Capture capture = load_capture(path);
    const PosedImages views = load_views(capture, {0}, 8, 8);
    EXPECT_TRUE(at::isfinite(intrinsics_of(views.cameras)).all().item<bool>());
    EXPECT_TRUE(at::isfinite(camera_to_world_of(views.cameras)).all().item<bool>());
  }
  void try_all(const std::string& name, const std::string& good, const std::string& opened) {
    expect_values_or_sentences(good, kCases, [&](const std::string& bytes) {
      write_file(folder_ / name, bytes);
      load(folder_ / opened);
    });
  }
  TemporaryFolder folder_;
};

TEST_F(DamagedViews, Transforms) {
  try_all("transforms.json",
          R"({"fl_x": 10, "fl_y": 11, "cx": 4, "cy": 4, "w": 8, "h": 8, "k1": 0.01, "camera_model": "OPENCV",
"frames": [{"file_path": "a.png", "transform_matrix": [[1, 0, 0, 0.5], [0, 1, 0, -2], [0, 0, 1, 3], [0, 0, 0, 1]]}]})",
          "transforms.json");
}

TEST_F(DamagedViews, OpencvCameras) {
  try_all("cameras.json",
          R"({"frames": [{"w": 8, "h": 8, "fx": 10, "fy": 11, "cx": 4, "cy": 4, "file_path": "a.png",
"w2c": [[1, 0, 0, 0.5], [0, 1, 0, -2], [0, 0, 1, 3], [0, 0, 0, 1]]}]})",
          "cameras.json");
}

TEST_F(DamagedViews, ColmapText) {
  write_file(folder_ / "images.txt", "1 1 0 0 0 0.5 2 3 1 a.png\n1 2 -1\n");
  try_all("cameras.txt", "# cameras\n1 OPENCV 8 8 9 10 3 4 0.01 0.002 0.003 0.004\n", "");
  write_file(folder_ / "cameras.txt", "1 PINHOLE 8 8 10 10 4 4\n");
  try_all("images.txt", "# images\n1 1 0 0 0 0.5 2 3 1 a.png\n1 2 -1\n", "");
}

template <class Number>
std::string raw(Number number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

TEST_F(DamagedViews, ColmapBinary) {
  std::string cameras =
      raw<uint64_t>(1) + raw<int32_t>(1) + raw<int32_t>(1) + raw<uint64_t>(8) + raw<uint64_t>(8);
  for (const double number : {10., 10., 4., 4.}) cameras += raw(number);
  std::string images = raw<uint64_t>(1) + raw<int32_t>(1);
  for (const double number : {1., 0., 0., 0., 0.5, 2., 3.}) images += raw(number);
  images += raw<int32_t>(1) + std::string("a.png") + '\0' + raw<uint64_t>(1) + std::string(24, '\0');
  write_file(folder_ / "images.bin", images);
  try_all("cameras.bin", cameras, "");
  write_file(folder_ / "cameras.bin", cameras);
  try_all("images.bin", images, "");
}

TEST_F(DamagedViews, Meshes) {
  write_file(folder_ / "a.mtl", "newmtl red\nKd 1 0 0\nmap_Kd a.png\n");
  const std::string obj =
      "mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0.5\nv 1 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nvn 0 0 1\nusemtl red\n"
      "f 1/1/1 2/2/1 3/3/1\nf -1 -2 -3 1\n";
  const auto read = [&](const std::string& name) {
    return [this, name](const std::string& bytes) {
      write_file(folder_ / name, bytes);
      tracer::make_mesh(tracer::read_obj(folder_ / "a.obj"), "a.obj");
    };
  };
  expect_values_or_sentences(obj, kCases, read("a.obj"));
  write_file(folder_ / "a.obj", obj);
  expect_values_or_sentences("newmtl red\nKd 1 0 0\nmap_Kd -s 1 1 1 a.png\n", kCases, read("a.mtl"));
}

/// A field of a protobuf message: bytes.
std::string protobuf_field(int number, const std::string& bytes) {
  return std::string{char(number << 3 | 2), char(bytes.size())} + bytes;
}

TEST(DamagedText, SentencePieceModels) {
  const auto piece = [](const std::string& text, float score, char kind) {
    return protobuf_field(1, protobuf_field(1, text) + std::string{char(2 << 3 | 5)} + raw(score) +
                                 std::string{char(3 << 3), kind});
  };
  std::string model = piece("<unk>", 0, 2) + piece("</s>", 0, 3) + piece("\u2581", -1, 1) +
                      piece("a", -2, 1) + piece("b", -3, 1) + piece("ab", -4, 1) + piece("\u2581ab", -5, 1);
  model += protobuf_field(2, std::string{char(3 << 3), 2});
  model += protobuf_field(3, std::string{char(3 << 3), 1, char(4 << 3), 0, char(5 << 3), 1});
  const TemporaryFolder folder;
  const auto read = [&](const std::string& bytes) {
    write_file(folder / "a.model", bytes);
    const auto tokenizer = sentencepiece_tokenizer(folder / "a.model");
    tokenizer->decode(tokenizer->encode("ab ba  abc\n"));
  };
  expect_values_or_sentences(model, 3 * kCases, read);
}

TEST(DamagedText, GzipFiles) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.gz";
  const gzFile file = gzopen(path.c_str(), "wb");
  const std::string text = testing::sample_text(200);
  gzwrite(file, text.data(), unsigned(text.size()));
  gzclose(file);
  const auto read = [&](const std::string& bytes) {
    write_file(path, bytes);
    TextFile unpacked(path);
    for (std::string block; unpacked.next(block);) {
    }
  };
  expect_values_or_sentences(read_file(path), kCases, read);
}

TEST(DamagedText, TokenFiles) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.tokens";
  io::write_file_atomically(path, [](io::FileWriter& file) {
    TokenArrayWriter writer(file, 300);
    writer.append({1, 2, 3, 4, 5});
    writer.end_document(299, 5);
    writer.append({6, 7});
    writer.end_document(299, 2);
    writer.finish();
  });
  const auto read = [&](const std::string& bytes) {
    write_file(path, bytes);
    const TokenArray tokens(path);
    std::vector<int64_t> copied(size_t(tokens.size()));
    tokens.copy(0, tokens.size(), copied.data());
  };
  expect_values_or_sentences(read_file(path), kCases, read);
}

TEST_F(DamagedViews, ListsOfClips) {
  const auto read = [&](const std::string& bytes) {
    write_file(folder_ / "list.jsonl", bytes);
    find_clip_files({folder_ / "list.jsonl"}, /*allow_empty_captions=*/true);
  };
  expect_values_or_sentences(
      "{\"video\": \"images\", \"caption\": \"a ball\"}\n{\"video\": \"images\", \"caption\": \"a cube\"}\n",
      kCases, read);
}

}  // namespace
}  // namespace lact::data
