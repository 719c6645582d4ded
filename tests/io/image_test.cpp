#include "lact/io/image.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>
#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <jpeglib.h>

#include "lact/base/memory_use.h"
#include "lact/base/random.h"
#include "lact/io/jpeg.h"
#include "lact/io/png.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::io {
namespace {

using testing::read_file;
using testing::TemporaryFolder;
using testing::write_file;

at::Tensor random_pixels(at::IntArrayRef shape) { return at::randint(256, shape, at::kByte); }

/// Slow waves in each colour: JPEG keeps them.
at::Tensor smooth_picture(int64_t height, int64_t width) {
  const at::Tensor rows = at::arange(height, at::kFloat).reshape({height, 1, 1}) / 9;
  const at::Tensor columns = at::arange(width, at::kFloat).reshape({1, width, 1}) / 7;
  const at::Tensor phase = at::arange(3, at::kFloat).reshape({1, 1, 3});
  return (128 + 100 * at::sin(rows + columns + phase)).to(at::kByte);
}

std::string png_bytes(const at::Tensor& image) {
  TemporaryFolder folder;
  write_png(folder / "image.png", image);
  return read_file(folder / "image.png");
}

/// A PNG with the sides given by its header alone.
std::string png_header(uint32_t width, uint32_t height) {
  const auto big_endian = [](uint32_t value) {
    return std::string{char(value >> 24), char(value >> 16), char(value >> 8), char(value)};
  };
  std::string chunk =
      "IHDR" + big_endian(width) + big_endian(height) + std::string("\x08\x02\x00\x00\x00", 5);
  const auto check = crc32(0, reinterpret_cast<const Bytef*>(chunk.data()), static_cast<uInt>(chunk.size()));
  return "\x89PNG\r\n\x1a\n" + big_endian(13) + chunk + big_endian(static_cast<uint32_t>(check)) +
         big_endian(100) + "IDAT";
}

TEST(Image, EveryPixelOfAPngComesBack) {
  for (const auto& shape : std::vector<std::vector<int64_t>>{{5, 7, 3}, {5, 7, 4}, {1, 1, 3}, {33, 64, 4}}) {
    const at::Tensor image = random_pixels(shape);
    EXPECT_TRUE(at::equal(decode_image(png_bytes(image), "p"), image)) << image.sizes();
    EXPECT_EQ(decode_image_size(png_bytes(image), "p"), (ImageSize{shape[0], shape[1]}));
  }
}

TEST(Image, GreyBecomesColour) {
  const at::Tensor grey = random_pixels({6, 5});
  EXPECT_TRUE(at::equal(decode_image(png_bytes(grey), "p"), grey.unsqueeze(2).expand({6, 5, 3})));
}

TEST(Image, PalettesBecomeColour) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.width = png.height = 2;
  png.format = PNG_FORMAT_RGB_COLORMAP;
  png.colormap_entries = 2;
  const uint8_t colours[] = {10, 20, 30, 200, 100, 0}, indices[] = {0, 1, 1, 0};
  std::string bytes(1000, '\0');
  png_alloc_size_t size = bytes.size();
  ASSERT_TRUE(png_image_write_to_memory(&png, bytes.data(), &size, 0, indices, 0, colours));
  const at::Tensor image = decode_image(bytes.substr(0, size), "p");
  const at::Tensor expected = at::tensor({10, 20, 30, 200, 100, 0, 200, 100, 0, 10, 20, 30}).to(at::kByte);
  EXPECT_TRUE(at::equal(image, expected.reshape({2, 2, 3})));
}

TEST(Image, JpegComesBackNearly) {
  const at::Tensor image = smooth_picture(37, 50);
  const at::Tensor back = decode_image(encode_jpeg(image, 95), "j");
  ASSERT_EQ(back.sizes(), image.sizes());
  EXPECT_LT((back.to(at::kFloat) - image.to(at::kFloat)).abs().mean().item<double>(), 3);
  EXPECT_EQ(decode_image_size(encode_jpeg(image), "j"), (ImageSize{37, 50}));
  EXPECT_LT(encode_jpeg(image, 20).size(), encode_jpeg(image, 95).size());
}

TEST(Image, AViewInAnotherOrderIsEncodedAsSeen) {
  const at::Tensor planes = smooth_picture(24, 24).permute({2, 0, 1}).contiguous();
  EXPECT_EQ(encode_jpeg(planes.permute({1, 2, 0})), encode_jpeg(planes.permute({1, 2, 0}).contiguous()));
}

TEST(Image, TheContentsDecideAndNotTheName) {
  TemporaryFolder folder;
  const at::Tensor image = smooth_picture(16, 16);
  write_file(folder / "a.png", encode_jpeg(image));
  write_file(folder / "a.jpg", png_bytes(image));
  EXPECT_TRUE(at::equal(read_image(folder / "a.jpg"), image));
  EXPECT_TRUE(at::equal(read_image(folder / "a.png"), decode_image(encode_jpeg(image), "j")));
  EXPECT_EQ(read_image_size(folder / "a.png"), (ImageSize{16, 16}));
}

TEST(Image, OtherFilesAreASentence) {
  TemporaryFolder folder;
  EXPECT_SENTENCE(read_image(folder / "none.png"), "none.png: does not exist");
  EXPECT_SENTENCE(read_image(folder / ""), "is a folder, expected a file");
  write_file(folder / "empty.png", "");
  EXPECT_SENTENCE(read_image(folder / "empty.png"), "empty.png: the file is empty");
  write_file(folder / "text.png", "hello");
  EXPECT_SENTENCE(read_image(folder / "text.png"), "text.png: is neither a PNG nor a JPEG picture");
}

TEST(Image, LargePicturesAreRefusedByTheirHeader) {
  EXPECT_SENTENCE(decode_image(png_header(20000, 10), "p.png"),
                  "p.png: the picture is 20000 x 10 pixels, expected sides of 1 to 16384");
  EXPECT_SENTENCE(decode_image(png_header(16384, 16384), "p.png"), "expected at most 134 million pixels");
  std::string jpeg = encode_jpeg(smooth_picture(16, 16));
  const size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  jpeg[frame + 5] = '\x7f';  // the height's high byte
  EXPECT_SENTENCE(decode_image(jpeg, "p.jpg"), "p.jpg: the picture is 16 x 32528 pixels");
}

TEST(Image, FilesThatEndInTheMiddleAreASentence) {
  const std::string png = png_bytes(random_pixels({20, 20, 3}));
  const std::string jpeg = encode_jpeg(smooth_picture(40, 40));
  for (size_t length = 8; length < png.size() - 12; length += 7)
    EXPECT_SENTENCE(decode_image(png.substr(0, length), "p"), "p: the PNG picture cannot be read: ");
  for (size_t length = 3; length < jpeg.size() - 2; length += 5)
    EXPECT_SENTENCE(decode_image(jpeg.substr(0, length), "j"), "j: the JPEG picture cannot be read: ");
}

TEST(Image, DamagedFilesAreASentenceOrAPicture) {
  Random random(5);
  int refused = 0;
  for (const std::string& whole :
       {png_bytes(random_pixels({20, 20, 4})), encode_jpeg(smooth_picture(40, 40), 90)}) {
    for (int i = 0; i < 300; ++i) {
      std::string bytes = whole;
      for (int k = 0; k < 3; ++k)
        bytes[3 + random.below(bytes.size() - 3)] = static_cast<char>(random.below(256));
      try {
        EXPECT_EQ(decode_image(bytes, "d").dim(), 3);
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 250);  // a PNG has check sums, so nearly every one of its 300
}

TEST(Image, JpegRefusesOtherShapesInASentence) {
  EXPECT_SENTENCE(encode_jpeg(at::zeros({4, 4, 3})), "the image is Float [4, 4, 3], expected uint8");
  EXPECT_SENTENCE(encode_jpeg(random_pixels({4, 4, 4})), "the image is Byte [4, 4, 4]");
  EXPECT_SENTENCE(encode_jpeg(at::Tensor()), "the image is undefined");
  EXPECT_SENTENCE(encode_jpeg(random_pixels({4, 4, 3}), 0), "the quality is 0, expected 1 to 100");
  EXPECT_SENTENCE(encode_jpeg(random_pixels({0, 4, 3})), "the picture is 4 x 0 pixels");
}

/// A progressive JPEG whose first scan is there so many times.
std::string jpeg_of_scans(int copies) {
  jpeg_compress_struct state = {};
  jpeg_error_mgr errors;
  state.err = jpeg_std_error(&errors);
  jpeg_create_compress(&state);
  unsigned char* made = nullptr;
  unsigned long count = 0;
  jpeg_mem_dest(&state, &made, &count);
  state.image_height = state.image_width = 16;
  state.input_components = 3;
  state.in_color_space = JCS_RGB;
  jpeg_set_defaults(&state);
  jpeg_simple_progression(&state);
  jpeg_start_compress(&state, TRUE);
  std::vector<unsigned char> line(16 * 3, 77);
  for (int i = 0; i < 16; ++i) {
    JSAMPROW row = line.data();
    jpeg_write_scanlines(&state, &row, 1);
  }
  jpeg_finish_compress(&state);
  std::string bytes(reinterpret_cast<const char*>(made), count);
  jpeg_destroy_compress(&state);
  std::free(made);
  const size_t begin = bytes.find("\xff\xda");
  size_t end = begin + 2;
  while (bytes[end] != '\xff' || bytes[end + 1] == '\0') ++end;
  const std::string scan = bytes.substr(begin, end - begin);
  for (int i = 1; i < copies; ++i) bytes.insert(begin, scan);
  return bytes;
}

TEST(Image, AJpegOfThousandsOfScansIsNotGoneThrough) {
  EXPECT_EQ(decode_image(jpeg_of_scans(1), "a.jpg").sizes(), at::IntArrayRef({16, 16, 3}));
  EXPECT_EQ(decode_image(jpeg_of_scans(20), "a.jpg").sizes(), at::IntArrayRef({16, 16, 3}));
  EXPECT_SENTENCE(decode_image(jpeg_of_scans(5000), "a.jpg"),
                  "a.jpg: the JPEG picture cannot be read: it has more than 200 scans");
}

TEST(Image, TextsInAPngTakeLittleMemory) {
  const auto big_endian = [](uint32_t value) {
    return std::string{char(value >> 24), char(value >> 16), char(value >> 8), char(value)};
  };
  const std::string text(7 << 20, ' ');
  uLongf packed_size = compressBound(text.size());
  std::string packed(packed_size, '\0');
  ASSERT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &packed_size,
                     reinterpret_cast<const Bytef*>(text.data()), text.size()),
            Z_OK);
  packed.resize(packed_size);
  const std::string chunk = std::string("zTXtComment") + '\0' + '\0' + packed;
  const auto check = crc32(0, reinterpret_cast<const Bytef*>(chunk.data()), uInt(chunk.size()));
  const std::string whole = big_endian(uint32_t(chunk.size() - 4)) + chunk + big_endian(uint32_t(check));
  std::string bytes = png_bytes(random_pixels({4, 4, 3}));
  const size_t after_header = 8 + 25;
  std::string texts;
  for (int i = 0; i < 100; ++i) texts += whole;
  bytes.insert(after_header, texts);
  const int64_t before = peak_resident_bytes();
  EXPECT_EQ(decode_image(bytes, "a.png").sizes(), at::IntArrayRef({4, 4, 3}));
#if defined(__SANITIZE_ADDRESS__)  // which keeps what is freed for a while
  constexpr int64_t kMost = 400 << 20;
#else
  constexpr int64_t kMost = 200 << 20;
#endif
  EXPECT_LT(peak_resident_bytes() - before, kMost) << "all of the texts are 700 MB";
}

}  // namespace
}  // namespace lact::io
