#include "lact/data/views/capture.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "lact/base/options.h"
#include "lact/data/views/load_views.h"
#include "lact/data/views/pose.h"
#include "lact/io/jpeg.h"
#include "lact/io/png.h"
#include "support/errors.h"
#include "support/example_views.h"
#include "support/temporary_folder.h"

namespace lact::data {
namespace {

namespace fs = std::filesystem;
using options::Json;
using testing::example;
using testing::expect_same_camera;
using testing::TemporaryFolder;
using testing::write_file;

const char* const kEveryFormat[] = {
    "opencv_cameras.json", "transforms.json", "transforms_opencv_axes.json", "transforms_train.json",
    "colmap_text",         "colmap_binary",   "colmap_text/images.txt",      "colmap_binary/cameras.bin"};

TEST(Capture, EveryFormatGivesTheSameCamerasAndPictures) {
  for (const char* name : kEveryFormat) {
    SCOPED_TRACE(name);
    const Capture capture = load_capture(example(name));
    ASSERT_EQ(capture.views.size(), 3u);
    const Pose poses[] = {{{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, -3}, {0, 0, 0, 1}}},
                          {{{0, 0, -1, 3}, {0, 1, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 1}}},
                          {{{-1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, -1, 3}, {0, 0, 0, 1}}}};
    const char* files[] = {"left.png", "middle.png", "right.jpg"};
    for (size_t i = 0; i < 3; ++i) {
      expect_same_camera(capture.views[i].camera, {8, 8, 10, 10, 4, 4, poses[i]}, 1e-12);
      EXPECT_TRUE(capture.views[i].distortion.none());
      EXPECT_TRUE(fs::equivalent(capture.views[i].image, example("images/") + files[i]))
          << capture.views[i].image;
    }
  }
}

TEST(Capture, AFolderIsSearchedForItsCameras) {
  EXPECT_EQ(load_capture(example("")).source, example("opencv_cameras.json"));
  TemporaryFolder folder;
  fs::copy(example("images"), folder / "images");
  EXPECT_SENTENCE(load_capture(folder / ""), "the folder holds no cameras: expected opencv_cameras.json");
  fs::create_directories(folder / "sparse");
  fs::copy(example("colmap_binary"), folder / "sparse/0");
  EXPECT_EQ(load_capture(folder / "").views.size(), 3u);
  fs::copy(example("transforms_train.json"), folder / "transforms_train.json");
  EXPECT_EQ(load_capture(folder / "").source, folder / "transforms_train.json");
  EXPECT_SENTENCE(load_capture(folder / "nowhere"), "nowhere: no such file or folder");
}

TEST(Capture, PicturesAreDecodedForTheChosenViews) {
  const Capture capture = load_capture(example("opencv_cameras.json"));
  const PosedImages loaded = load_views(capture, {2, 0}, 8, 8);
  ASSERT_EQ(loaded.images.size(), 2u);
  expect_same_camera(loaded.cameras[0], capture.views[2].camera, 1e-12);
  // One colour: Y 160, Cb 100, Cr 150.
  const at::Tensor colour = loaded.images[0].mean(at::IntArrayRef{1, 2}) * 255;
  EXPECT_NEAR(colour[0].item<double>(), 191, 1);
  EXPECT_NEAR(colour[1].item<double>(), 154, 1);
  EXPECT_NEAR(colour[2].item<double>(), 110, 1);
  // The left half of the first picture is transparent: white. At (5, 6) it is (150, 180, 128).
  EXPECT_EQ(loaded.images[1].slice(2, 0, 4).min().item<double>(), 1);
  EXPECT_TRUE(
      at::allclose(loaded.images[1].select(1, 5).select(1, 6) * 255, at::tensor({150.f, 180.f, 128.f})));
  EXPECT_SENTENCE(load_views(capture, {3}, 8, 8), "view 3 was asked for, but the scene has 3 views");
}

TEST(Capture, PicturesCanBeDecodedInPortions) {
  const Capture capture = load_capture(example("opencv_cameras.json"));
  const PosedImages all = load_views(capture, {0, 1, 2}, 4, 8);
  ViewLoader loader(capture, 4, 8);
  for (int64_t i = 0; i < 3; ++i) {
    const PosedImages one = loader.load(std::span(&i, 1));
    EXPECT_TRUE(one.images.at(0).equal(all.images[i]));
    expect_same_camera(one.cameras.at(0), all.cameras[i], 0);
  }
}

/// A transforms.json of one frame that a test spoils or changes.
class OneFrame : public ::testing::Test {
 protected:
  OneFrame() {
    write_file(folder_ / "a.png", testing::read_file(example("images/middle.png")));
    json_ = Json::parse(
        R"({"w": 8, "h": 8, "fl_x": 10, "fl_y": 11, "cx": 3, "cy": 5, "frames": [{"file_path": "a.png",
      "transform_matrix": [[1, 0, 0, 1], [0, 1, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]}]})");
  }
  Json& frame() { return json_["frames"][0]; }
  std::string file() {
    write_file(folder_ / "transforms.json", json_.dump());
    return folder_ / "transforms.json";
  }
  Capture load(const CaptureOptions& options = {}) { return load_capture(file(), options); }

  TemporaryFolder folder_;
  Json json_;
};

TEST_F(OneFrame, OpenGlAxesAreTurned) {
  const Pose expected = {{{1, 0, 0, 1}, {0, -1, 0, 2}, {0, 0, -1, 3}, {0, 0, 0, 1}}};
  expect_same_camera(load().views[0].camera, {8, 8, 10, 11, 3, 5, expected}, 1e-12);
}

TEST_F(OneFrame, OpenCvAxesStayByOptionOrField) {
  const Pose expected = {{{1, 0, 0, 1}, {0, 1, 0, 2}, {0, 0, 1, 3}, {0, 0, 0, 1}}};
  EXPECT_EQ(load({.axes = CameraAxes::opencv}).views[0].camera.camera_to_world, expected);
  json_["camera_axes"] = "opencv";
  EXPECT_EQ(load().views[0].camera.camera_to_world, expected);
  EXPECT_NE(load({.axes = CameraAxes::opengl}).views[0].camera.camera_to_world, expected);
  json_["camera_axes"] = "blender";
  EXPECT_SENTENCE(load(), "camera_axes is \"blender\", expected \"opengl\" or \"opencv\"");
}

TEST_F(OneFrame, IntrinsicsOfTheFrameGoFirst) {
  frame()["fl_x"] = 20;
  frame()["cy"] = 4.5;
  frame()["k1"] = 0.1;
  const View view = load().views[0];
  EXPECT_EQ(view.camera.fx, 20);
  EXPECT_EQ(view.camera.fy, 11);
  EXPECT_EQ(view.camera.cy, 4.5);
  EXPECT_EQ(view.distortion, radial_tangential(0.1, 0, 0, 0, 0, 0));
}

TEST_F(OneFrame, AnglesAndMissingSizesAreEnough) {
  for (const char* key : {"w", "h", "fl_x", "fl_y", "cx", "cy"}) json_.erase(key);
  EXPECT_SENTENCE(load(), "frames.0 has no focal length: expected fl_x or camera_angle_x");
  json_["camera_angle_x"] = 2 * std::atan(0.5);
  const Camera camera = load().views[0].camera;
  EXPECT_NEAR(camera.fx, 8, 1e-12);
  EXPECT_NEAR(camera.fy, 8, 1e-12);
  EXPECT_EQ(camera.cx, 4);
  EXPECT_EQ(camera.width, 8);
  json_["camera_angle_y"] = 2 * std::atan(0.25);
  EXPECT_NEAR(load().views[0].camera.fy, 16, 1e-12);
  json_["camera_angle_x"] = 3.2;
  EXPECT_SENTENCE(load(), "camera_angle_x is 3.2, expected an angle between 0 and pi");
}

TEST_F(OneFrame, LensesAreUnderstoodOrRefused) {
  json_["camera_model"] = "OPENCV";
  for (const char* key : {"k1", "k2", "k3", "k4", "p1", "p2"})
    json_[key] = 0.01 * (key[1] - '0') + (key[0] == 'p');
  EXPECT_EQ(load().views[0].distortion, radial_tangential(0.01, 0.02, 0.03, 0.04, 1.01, 1.02));
  frame()["distortion_params"] = {0.1, 0.2, 0, 0, 0.3, 0.4};
  EXPECT_EQ(load().views[0].distortion, radial_tangential(0.1, 0.2, 0, 0, 0.3, 0.4));
  frame()["distortion_params"] = {0.1, 0.2};
  EXPECT_SENTENCE(load(), "frames.0.distortion_params is [0.1,0.2], expected 6 numbers");
  frame().erase("distortion_params");
  json_["camera_model"] = "OPENCV_FISHEYE";
  EXPECT_EQ(load().views[0].distortion, (Distortion{LensModel::fisheye, 0.01, 0.02, 0.03, 0.04, 0, 0}));
  json_["camera_model"] = "EQUIRECTANGULAR";
  EXPECT_SENTENCE(load(),
                  "camera_model is \"EQUIRECTANGULAR\", expected OPENCV_FISHEYE or one of OPENCV, PINHOLE");
}

TEST_F(OneFrame, MistakesAreASentenceThatNamesTheField) {
  const Json good = json_;
  const auto spoiled = [&](const std::string& pointer, const Json& value) {
    json_ = good;
    json_[Json::json_pointer(pointer)] = value;
    return file();
  };
  EXPECT_SENTENCE(load_capture(spoiled("/fl_x", 0)),
                  "frames.0: the focal length is 0 (fx), expected 0.001 to 1e+08 pixels");
  EXPECT_SENTENCE(load_capture(spoiled("/fl_x", -3.5)), "the focal length is -3.5");
  // Numbers that float32 has no room for.
  EXPECT_SENTENCE(load_capture(spoiled("/fl_x", 1e-320)), "frames.0: the focal length is 1e-320 (fx)");
  EXPECT_SENTENCE(load_capture(spoiled("/fl_x", 1e200)),
                  "transforms.json: frames.0: the focal length is 1e+200");
  EXPECT_SENTENCE(load_capture(spoiled("/cx", -1e30)),
                  "frames.0: the centre of the picture is at -1e+30 (cx), expected -1e+08 to 1e+08 pixels");
  EXPECT_SENTENCE(load_capture(spoiled("/frames/0/transform_matrix/1/3", 1e300)),
                  "transforms.json: frames.0.transform_matrix has the position 1 1e+300 3, expected "
                  "coordinates within 1e+09");
  EXPECT_SENTENCE(load_capture(spoiled("/fl_x", "10")),
                  "transforms.json: fl_x is \"10\", expected a finite number");
  EXPECT_SENTENCE(load_capture(spoiled("/w", 8.5)),
                  "w is 8.5, expected a whole number of pixels from 1 to 16384");
  EXPECT_SENTENCE(load_capture(spoiled("/h", -1)), "h is -1, expected a whole number of pixels");
  EXPECT_SENTENCE(load_capture(spoiled("/h", 1e300)), "expected a whole number of pixels");
  EXPECT_SENTENCE(load_capture(spoiled("/frames", Json::array())), "frames is [], expected a list of frames");
  EXPECT_SENTENCE(load_capture(spoiled("/frames/0", 7)), "frames.0 is 7, expected an object");
  EXPECT_SENTENCE(load_capture(spoiled("/frames/0/file_path", 7)),
                  "frames.0.file_path is 7, expected a string");
  EXPECT_SENTENCE(load_capture(spoiled("/frames/0/file_path", "b.png")),
                  "1 of 1 images do not exist, the first is " + folder_ / "b.png");
  EXPECT_SENTENCE(load_capture(spoiled("/frames/0/transform_matrix", {1, 2})),
                  "expected 4 rows of 4 numbers");
  EXPECT_SENTENCE(load_capture(spoiled("/frames/0/transform_matrix/1", {0, "x", 0, 0})),
                  "4 rows of 4 numbers");
  EXPECT_SENTENCE(load_capture(spoiled("/frames/0/transform_matrix/0/0", 3)),
                  "frames.0.transform_matrix is not a rotation and a position");
  EXPECT_SENTENCE(load_capture(spoiled("/frames/0/transform_matrix/0/0", -1)), "mirrors the scene");
  json_ = good;
  frame().erase("transform_matrix");
  EXPECT_SENTENCE(load(), "frames.0 has no \"transform_matrix\"");
  for (const char* text : {"", "{", "[1, 2", "{\"frames\": [{\"file_path\": NaN}]}", "{\"fl_x\": 1e999}"}) {
    write_file(folder_ / "broken.json", text);
    EXPECT_SENTENCE(load_capture(folder_ / "broken.json"), "broken.json: not valid JSON");
  }
  for (const char* text : {"{}", "[]", "7", "[{\"a\": 1}]"}) {
    write_file(folder_ / "other.json", text);
    EXPECT_SENTENCE(load_capture(folder_ / "other.json"), "other.json: not a camera file");
  }
  write_file(folder_ / "list.json", "[\"scene_a/opencv_cameras.json\"]");
  EXPECT_SENTENCE(load_capture(folder_ / "list.json"),
                  "is a list of scenes, expected the camera file of one of them");
}

TEST_F(OneFrame, DeeplyNestedFilesAreASentence) {
  const std::string deep = std::string(300'000, '[') + std::string(300'000, ']');
  write_file(folder_ / "deep.json", "{\"frames\": [" + deep + "]}");
  EXPECT_SENTENCE(load_capture(folder_ / "deep.json"), "deep.json: its JSON is nested more than 64 deep");
  write_file(folder_ / "deep.json", "{\"frames\": [[[[7]]]]}");
  EXPECT_SENTENCE(load_capture(folder_ / "deep.json"), "frames.0 is a list of 1 entries, expected an object");
}

TEST_F(OneFrame, ViewsWithoutAPictureCanBeLeftOut) {
  json_["frames"].push_back(frame());
  json_["frames"][1]["file_path"] = "missing.png";
  EXPECT_SENTENCE(load(), "1 of 2 images do not exist");
  EXPECT_EQ(load({.skip_missing = true}).views.size(), 1u);
  frame()["file_path"] = "missing_too.png";
  EXPECT_SENTENCE(load({.skip_missing = true}), "2 of 2 images do not exist");
}

TEST_F(OneFrame, AnotherFolderOfImagesCanBeGiven) {
  fs::create_directories(folder_ / "small");
  fs::rename(folder_ / "a.png", folder_ / "small/a.png");
  frame()["file_path"] = "images/a.png";
  EXPECT_SENTENCE(load(), "images do not exist");
  EXPECT_TRUE(fs::equivalent(load({.images = folder_ / "small"}).views[0].image, folder_ / "small/a.png"));
}

TEST_F(OneFrame, CamerasFollowThePictureOnDisk) {
  json_["w"] = 16;
  json_["h"] = 16;
  const DecodedView view = decode_view(load().views[0]);
  EXPECT_EQ(view.camera.width, 8);
  EXPECT_EQ(view.camera.fx, 5);
  EXPECT_EQ(view.camera.fy, 5.5);
  EXPECT_EQ(view.camera.cx, 1.5);
  EXPECT_EQ(view.camera.cy, 2.5);
  json_["w"] = 32;
  EXPECT_SENTENCE(
      decode_view(load().views[0]),
      "a.png: the picture is 8 x 8 pixels, but its camera is for 32 x 16, which has another shape");
}

TEST_F(OneFrame, DistortedPhotosAreStraightened) {
  json_["k1"] = 0.3;
  const View view = load().views[0];
  const DecodedView decoded = decode_view(view);
  const Camera straight = undistorted_camera(view.camera, view.distortion, "a");
  expect_same_camera(decoded.camera, straight, 1e-12);
  EXPECT_GT(straight.fx, view.camera.fx);
  const at::Tensor plain = decode_view({view.camera, {}, view.image}).image;
  EXPECT_FALSE(at::equal(decoded.image, plain));
  EXPECT_TRUE(at::equal(decoded.image, undistort(plain, view.camera, view.distortion, straight)));
}

TEST(OpenCvCameras, MistakesNameTheView) {
  TemporaryFolder folder;
  Json json = options::read_json_file(example("opencv_cameras.json"));
  const auto spoiled = [&](const std::string& pointer, const Json& value) {
    Json copy = json;
    copy[Json::json_pointer(pointer)] = value;
    write_file(folder / "cameras.json", copy.dump());
    return folder / "cameras.json";
  };
  EXPECT_SENTENCE(load_capture(spoiled("/1/fx", 0)), "cameras.json: view 1: the focal length is 0");
  EXPECT_SENTENCE(load_capture(spoiled("/2/w2c/0/0", 5)), "cameras.json: view 2.w2c is not a rotation");
  EXPECT_SENTENCE(load_capture(spoiled("/0/file_path", "")), "view 0.file_path is \"\", expected a string");
  EXPECT_SENTENCE(load_capture(spoiled("/0/w", 1e9)), "view 0.w is 1000000000.0");
  const Json wrapped = {{"scene_name", "a"}, {"frames", json}};
  write_file(folder / "wrapped.json", wrapped.dump());
  EXPECT_EQ(load_capture(folder / "wrapped.json", {.images = example("images")}).views.size(), 3u);
}

}  // namespace
}  // namespace lact::data
