// View synthesis as a user runs it: photos to a scene file to pictures.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <nlohmann/json.hpp>

#include <filesystem>

#include "data/views/tracer/glb.h"
#include "lact/base/data_folder.h"
#include "lact/data/views/capture.h"
#include "lact/io/image.h"
#include "lact/io/jpeg.h"
#include "lact/io/png.h"
#include "lact/models/nvs/folder.h"
#include "lact/models/nvs/scene_file.h"
#include "lact/tasks/nvs/session.h"
#include "support/exif_jpeg.h"
#include "support/ffmpeg.h"
#include "support/places.h"
#include "support/program.h"
#include "support/tiny_nvs.h"

namespace lact::cli {
namespace {

namespace fs = std::filesystem;
using lact::testing::expect_mistake;
using lact::testing::interrupt_program;
using lact::testing::make_nvs;
using lact::testing::Outcome;
using lact::testing::read_file;
using lact::testing::run_program;
using lact::testing::TemporaryFolder;
using lact::testing::tiny_nvs;
using lact::testing::write_file;
using ::testing::HasSubstr;

/// Three photos of 8 x 8 pixels; the model's patches are 4 x 4.
const std::string kPhotos =
    "'" + testing::source_folder() + "/tests/data/views/examples/opencv_cameras.json'";

class NvsProgram : public ::testing::Test {
 protected:
  NvsProgram() { models::save_nvs(path("model"), *make_nvs(tiny_nvs())); }

  std::string path(const std::string& name) const { return folder_ / name; }
  std::string quoted(const std::string& name) const { return "'" + path(name) + "'"; }

  std::string reconstruct_words(const std::string& more = "") const {
    return "--threads 1 nvs reconstruct " + kPhotos + " --model " + quoted("model") + " --size 8 -o " +
           quoted("scene.fw") + " " + more;
  }
  nlohmann::json reconstruct(const std::string& more = "") const {
    return json_of(run_program(reconstruct_words("--json " + more)));
  }
  nlohmann::json render(const std::string& more, const std::string& environment = "") const {
    return json_of(
        run_program("--threads 1 nvs render --json " + quoted("scene.fw") + " " + more, environment));
  }

  static nlohmann::json json_of(const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out, nullptr, /*allow_exceptions=*/false);
  }

  at::Tensor frame(const std::string& folder, int index) const {
    return io::read_image(path(fmt::format("{}/frame-{:05}.png", folder, index)));
  }
  size_t count_files(const std::string& folder) const {
    return size_t(std::distance(fs::directory_iterator(path(folder)), fs::directory_iterator()));
  }

  /// A program named ffmpeg that stores the pixels it gets.
  std::string with_plain_ffmpeg() const {
    fs::create_directory(path("tools"));
    write_file(path("tools/ffmpeg"), "#!/bin/sh\nfor last; do :; done\nexec cat >\"${last#file:}\"\n");
    chmod(path("tools/ffmpeg").c_str(), 0755);
    return "PATH=" + quoted("tools") + ":\"$PATH\"";
  }

  TemporaryFolder folder_;
};

TEST_F(NvsProgram, ReadsPhotosAndRendersThemAsTheLibraryDoes) {
  const auto summary = reconstruct();
  EXPECT_EQ(summary["views"], 3);
  EXPECT_EQ(summary["tokens"], 3 * 4);
  EXPECT_EQ(summary["file_bytes"], fs::file_size(path("scene.fw")));
  EXPECT_GT(summary["peak_memory_bytes"], 1'000'000);

  EXPECT_EQ(render("--views -o " + quoted("views"))["frames"], 3);
  const auto model = models::load_nvs(path("model"));
  const auto scene = tasks::nvs::Session::open(tasks::nvs::load(path("model")), path("scene.fw"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(frame("views", i).equal(scene.render(scene.cameras()[size_t(i)]))) << i;
    for (const double coordinate : data::column(scene.cameras()[size_t(i)].camera_to_world, 3))
      EXPECT_LE(std::abs(coordinate), 1 + 1e-6);
  }
  EXPECT_FALSE(frame("views", 0).equal(frame("views", 1)));
}

TEST_F(NvsProgram, ACameraPathIsGivenInTheCoordinatesOfThePhotos) {
  reconstruct();
  render("--views -o " + quoted("views"));
  render("--camera " + kPhotos + " -o " + quoted("path"));
  EXPECT_EQ(count_files("path"), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(frame("path", i).equal(frame("views", i))) << i;
  const auto resized = render("--camera " + kPhotos + " --size 4x8 -o " + quoted("resized"));
  EXPECT_EQ(resized["height"], 4);
  EXPECT_EQ(frame("resized", 2).sizes(), at::IntArrayRef({4, 8, 3}));
}

TEST_F(NvsProgram, TheModelsCoordinatesAreAChoice) {
  const auto place = [&](const std::string& frame) {
    EXPECT_EQ(reconstruct("--frame " + frame)["frame"], frame);
    const auto model = models::load_nvs(path("model"));
    const auto scene = models::load_scene(path("scene.fw"), *model, models::fingerprint(*model));
    return scene.camera_to_world.select(2, 3).narrow(1, 0, 3).norm(2, 1);
  };
  EXPECT_TRUE(at::allclose(place("given"), at::full({3}, 3.f)));  // where the photos' file has them
  EXPECT_TRUE(at::allclose(place("object"), at::full({3}, 2.7f), 1e-2));
  render("--views -o " + quoted("views"));
  render("--camera " + kPhotos + " -o " + quoted("path"));
  EXPECT_TRUE(frame("path", 1).equal(frame("views", 1)));
}

TEST_F(NvsProgram, ReadsPhotosOneAfterTheOther) {
  reconstruct();
  render("--views -o " + quoted("at_once"));
  // All in one write is reading them at once.
  EXPECT_EQ(reconstruct("--stream --every 9")["writes"], 1);
  render("--views -o " + quoted("together"));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(frame("together", i).equal(frame("at_once", i))) << i;
  const auto summary = reconstruct("--stream --every 2");
  EXPECT_EQ(summary["writes"], 2);
  EXPECT_EQ(summary["chosen"], (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(render("--views -o " + quoted("streamed"))["frames"], 3);
  EXPECT_FALSE(frame("streamed", 0).equal(frame("at_once", 0)));
  expect_mistake(reconstruct_words("--every 2"), "--stream");
  expect_mistake(reconstruct_words("--stream --wait 1 --views 2"), "--views means nothing with --wait");
}

TEST_F(NvsProgram, GoesAroundAndFromViewToView) {
  reconstruct();
  EXPECT_EQ(render("--turntable --frames 5 --size 8x12 -o " + quoted("around"))["frames"], 5);
  EXPECT_EQ(count_files("around"), 5u);
  EXPECT_EQ(frame("around", 4).sizes(), at::IntArrayRef({8, 12, 3}));
  EXPECT_FALSE(frame("around", 0).equal(frame("around", 2)));
  EXPECT_EQ(render("--interpolate --between 2 -o " + quoted("between"))["frames"], 3 + 2 * 2);
  render("--views -o " + quoted("views"));
  EXPECT_TRUE(frame("between", 3).equal(frame("views", 1)));
  EXPECT_EQ(render("--turntable --frames 1 -o " + quoted("one.png"))["frames"], 1);
  EXPECT_EQ(io::read_image_size(path("one.png")), (io::ImageSize{8, 8}));
}

TEST_F(NvsProgram, WritesVideosThroughFfmpeg) {
  reconstruct();
  render("--interpolate --between 1 --fps 12 -o " + quoted("x.mp4"), with_plain_ffmpeg());
  render("--interpolate --between 1 -o " + quoted("frames"));
  std::string pixels;
  for (int i = 0; i < 5; ++i) {
    const at::Tensor picture = frame("frames", i);
    pixels.append(static_cast<const char*>(picture.data_ptr()), picture.nbytes());
  }
  EXPECT_EQ(read_file(path("x.mp4")), pixels);

  const Outcome missing =
      run_program("nvs render " + quoted("scene.fw") + " --turntable -o " + quoted("y.mp4"), "PATH=/nowhere");
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("Debian package ffmpeg"));
  EXPECT_FALSE(fs::exists(path("y.mp4")));
}

TEST_F(NvsProgram, RealVideosHoldEveryFrame) {
  if (!lact::testing::ffmpeg_is_installed()) GTEST_SKIP() << "ffmpeg is not installed";
  reconstruct();
  for (const std::string name : {"x.mp4", "x.gif"}) {
    render("--turntable --frames 6 --size 32 --fps 10 -o " + quoted(name));
    EXPECT_EQ(lact::testing::decode_video(path(name)).size(), 6u * 32 * 32 * 3) << name;
  }
}

TEST_F(NvsProgram, ControlCLeavesNoHalfVideo) {
  reconstruct();
  const std::string tools = with_plain_ffmpeg();
  const auto outcome = interrupt_program(
      "nvs render " + quoted("scene.fw") + " --turntable --frames 1000000 -o " + quoted("x.mp4"),
      "grep -q /1000000 $err", tools);
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("of 1000000 frames"));
  EXPECT_EQ(folder_.names(), (std::vector<std::string>{"model", "scene.fw", "tools"}));
}

TEST_F(NvsProgram, ChoosesPhotosAndTheirSize) {
  for (const std::string selection : {"kmeans", "every", "random"}) {
    const auto chosen = reconstruct("--views 2 --seed 3 --selection " + selection)["chosen"];
    EXPECT_EQ(chosen.size(), 2u) << selection;
    EXPECT_EQ(reconstruct("--views 2 --seed 3 --selection " + selection)["chosen"], chosen) << selection;
  }
  EXPECT_EQ(reconstruct("--views 2 --selection every")["chosen"], (std::vector<int>{0, 1}));
  models::save_nvs(path("model"), *make_nvs(tiny_nvs()), at::kFloat, {io::ImageSize{4, 8}, "given"});
  const auto trained =
      json_of(run_program("nvs reconstruct --json " + kPhotos + " --precision bf16 --model " +
                          quoted("model") + " -o " + quoted("scene.fw")));
  EXPECT_EQ(trained["height"], 4);
  EXPECT_EQ(trained["width"], 8);
  EXPECT_EQ(trained["frame"], "given");
}

TEST_F(NvsProgram, PiecesGiveTheSameScene) {
  reconstruct("--precision f32");
  render("--views --precision f32 -o " + quoted("whole"));
  reconstruct("--piece-tokens 4 --precision f32");
  render("--views --precision f32 -o " + quoted("pieces"));
  for (int i = 0; i < 3; ++i) {
    const at::Tensor difference = frame("whole", i).to(at::kInt) - frame("pieces", i).to(at::kInt);
    EXPECT_LE(difference.abs().max().item<int>(), 1);
  }
}

TEST_F(NvsProgram, ASceneFindsItsModelAndRefusesOthers) {
  reconstruct();
  fs::rename(path("model"), path("moved"));
  const std::string scene = "nvs render " + quoted("scene.fw") + " --views -o " + quoted("frames");
  expect_mistake(scene, "it was at " + path("model"));
  expect_mistake("nvs view " + quoted("scene.fw"), "--model names its folder");
  models::save_nvs(path("model"), *make_nvs(tiny_nvs(), 99));
  expect_mistake(scene, "another one is at " + path("model"));
  expect_mistake(scene + " --model " + quoted("model"), "was made by another model");
  EXPECT_FALSE(fs::exists(path("frames")));
  json_of(run_program(scene + " --json --model " + quoted("moved")));
  EXPECT_EQ(count_files("frames"), 3u);
}

TEST_F(NvsProgram, MistakesOfReconstructAreSentencesAndLeaveNoFile) {
  const std::string begin = "nvs reconstruct --model " + quoted("model") + " -o " + quoted("scene.fw") + " ";
  expect_mistake(begin + kPhotos + " --size 10", "not divisible by the patch of 4 pixels");
  expect_mistake(begin + kPhotos + " --size 8x", "\"8x\" is not a size");
  expect_mistake(begin + kPhotos + " --size 0", "a side of 0 pixels");
  expect_mistake(begin + kPhotos + " --views 4", "4 views were asked for, but there are 3");
  expect_mistake(begin + kPhotos + " --selection best", "best");
  expect_mistake(begin + kPhotos + " --precision f16", "precision");
  expect_mistake(begin + kPhotos + " --size 8 --frame upside_down", "one of given, mean_pose, object");
  expect_mistake(begin + "/nowhere", "/nowhere: no such file or folder");
  expect_mistake("nvs reconstruct --model /nowhere -o " + quoted("scene.fw") + " " + kPhotos,
                 "/nowhere: is not a model folder");
  expect_mistake("nvs reconstruct --model " + quoted("model") + " -o /nowhere/scene.fw " + kPhotos,
                 "the folder /nowhere does not exist");
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"model"});
}

TEST_F(NvsProgram, MistakesOfRenderAreSentencesAndLeaveNoFile) {
  reconstruct();
  const auto names = folder_.names();
  const std::string begin = "nvs render " + quoted("scene.fw") + " -o " + quoted("out") + " ";
  expect_mistake(begin, "give --camera FILE, --turntable, --interpolate or --views");
  expect_mistake(begin + "--views --turntable", "give --turntable or --views, not both");
  expect_mistake(begin + "--views --frames 3", "--frames is for --turntable");
  expect_mistake(begin + "--views --fps 3", "--fps is for videos");
  expect_mistake(begin + "--views --size 6", "not divisible by the patch of 4 pixels");
  expect_mistake(begin + "--camera /nowhere.json", "/nowhere.json");
  expect_mistake("nvs render " + quoted("scene.fw") + " --views -o " + quoted("out.avi"), "not to .avi");
  expect_mistake("nvs render " + quoted("scene.fw") + " --views -o " + quoted("out.png"),
                 "3 frames do not fit");
  expect_mistake("nvs render " + quoted("scene.fw") + " --views -o /nowhere/out.mp4", "does not exist");
  expect_mistake("nvs render " + quoted("model/model.safetensors") + " --views -o " + quoted("out"),
                 "is not a scene");
  expect_mistake("nvs view " + quoted("scene.fw") + " --size 30", "not divisible by the patch of 4 pixels");
  EXPECT_EQ(folder_.names(), names);
}

TEST_F(NvsProgram, TheViewerSaysWhereItIs) {
  reconstruct();
  const auto outcome = interrupt_program("nvs view --port 0 " + quoted("scene.fw"), "grep -q viewer: $out");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("viewer: http://127.0.0.1:"));
}

TEST_F(NvsProgram, WithoutAModelTheShippedWeightsAreTaken) {
  const std::string words = "nvs reconstruct --views 1 " + kPhotos + " -o " + quoted("scene.fw");
  if (find_data_folder({"weights/nvs", "weights/nvs", "config.json"}).empty()) {
    expect_mistake(words, "lact nvs train makes one");
    return;
  }
  json_of(run_program(words + " --json --size 64"));
  json_of(run_program("nvs render --json " + quoted("scene.fw") + " --views -o " + quoted("one.png")));
}

TEST_F(NvsProgram, AMadeUpSceneIsPhotographedForTheOtherVerbs) {
  const std::string words = "nvs photos --views 3 --size 16x24 --seed 5 -o ";
  const auto outcome = run_program(words + quoted("made"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("3 photos of 16 x 24 pixels"));
  const data::Capture made = data::load_capture(path("made"));
  ASSERT_EQ(made.views.size(), 3U);
  EXPECT_EQ(made.views[0].camera.width, 24);
  EXPECT_EQ(run_program(words + quoted("again")).exit_code, 0);
  EXPECT_EQ(read_file(path("again/images/0002.png")), read_file(path("made/images/0002.png")));
  expect_mistake(words + quoted("made"), "exists already");
  expect_mistake("nvs photos --y-up -o " + quoted("other"), "--y-up is for --mesh");
  expect_mistake("nvs photos --mesh none.obj -o " + quoted("other"), "none.obj: is not a file");
  EXPECT_FALSE(fs::exists(path("other")));
}

TEST_F(NvsProgram, AnExportedModelIsHalfAsLargeAndRenders) {
  const auto outcome = run_program("nvs export " + quoted("model") + " -o " + quoted("small"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("as bf16"));
  EXPECT_LT(fs::file_size(path("small/model.safetensors")),
            0.7 * double(fs::file_size(path("model/model.safetensors"))));
  EXPECT_EQ(models::load_nvs(path("small"))->config(), models::load_nvs(path("model"))->config());
  expect_mistake("nvs export " + quoted("model") + " -o " + quoted("small"), "holds a model already");
  expect_mistake("nvs export " + quoted("none") + " -o " + quoted("other"), "none");
}

TEST_F(NvsProgram, EveryVerbHasHelpWithAnExample) {
  for (const std::string verb : {"photos", "reconstruct", "render", "view", "export"}) {
    const auto outcome = run_program("nvs " + verb + " --help");
    EXPECT_EQ(outcome.exit_code, 0) << verb;
    EXPECT_THAT(outcome.out, HasSubstr("Example: lact nvs " + verb)) << verb;
  }
}

TEST_F(NvsProgram, PhotosAsPeopleHaveThemAreReadOrRefusedInASentence) {
  fs::create_directory(path("photos"));
  const at::Tensor picture = at::randint(256, {12, 16, 3}, at::kByte);
  nlohmann::json json = {{"w", 16}, {"h", 12}, {"fl_x", 14}, {"frames", nlohmann::json::array()}};
  const auto add = [&](const std::string& name, const std::string& bytes) {
    write_file(path("photos/" + name), bytes);
    json["frames"].push_back(
        {{"file_path", name},
         {"transform_matrix", {{1, 0, 0, 0.5 * double(json["frames"].size())}, {0, 1, 0, 0}, {0, 0, 1, 3}}}});
  };
  const auto words = [&](const std::string& more = "") {
    write_file(path("photos/transforms.json"), json.dump());
    return "-q --threads 1 nvs reconstruct " + quoted("photos") + " --model " + quoted("model") +
           " --size 8 -o " + quoted("photos.fw") + " " + more;
  };
  // One photo alone, stored on its side.
  add("turned.jpg", testing::exif_jpeg(picture.flip(1).transpose(0, 1).contiguous(), 6));
  EXPECT_EQ(json_of(run_program(words("--json")))["views"], 1);
  // Grey, and with a mask.
  io::write_png(path("grey.png"), at::full({12, 16}, 90, at::kByte));
  add("grey.png", read_file(path("grey.png")));
  add("masked.png", read_file(path("grey.png")));
  json["frames"][2]["mask_path"] = "grey.png";
  EXPECT_EQ(json_of(run_program(words("--json")))["views"], 3);
  EXPECT_EQ(run_program("-q --threads 1 nvs render " + quoted("photos.fw") + " --views -o " + quoted("seen"))
                .exit_code,
            0);
  add("gone.jpg", "x");
  fs::remove(path("photos/gone.jpg"));
  expect_mistake(words(), "1 of 4 images do not exist");
  EXPECT_EQ(json_of(run_program(words("--json --skip-missing")))["views"], 3);
  write_file(path("photos/gone.jpg"), io::encode_jpeg(picture).substr(0, 300));
  expect_mistake(words(), "gone.jpg: the JPEG picture cannot be read");
  json["frames"][3]["camera_model"] = "EQUIRECTANGULAR";
  expect_mistake(words(), "frames.3.camera_model is \"EQUIRECTANGULAR\"");
}

TEST_F(NvsProgram, MeshesOfEveryFormatArePhotographed) {
  write_file(path("square.glb"), data::tracer::testing_glb::square_glb().bytes());
  write_file(path("cut.glb"), data::tracer::testing_glb::square_glb().bytes().substr(0, 300));
  write_file(path("broken.ply"), "ply\nformat ascii 1.0\nelement vertex 99999999\nend_header\n");
  const auto outcome = run_program("-q nvs photos --mesh " + quoted("square.glb") +
                                   " --views 2 --size 16 -o " + quoted("square"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(io::read_image_size(path("square/images/0001.png")), (io::ImageSize{16, 16}));
  const auto refused = [&](const std::string& file, const std::string& sentence) {
    expect_mistake("-q nvs photos --mesh " + quoted(file) + " -o " + quoted("none"), sentence);
  };
  refused("cut.glb", "cut.glb: ");
  refused("broken.ply", "broken.ply: line 2: 99999999 elements \"vertex\", expected at most 20000000");
}

}  // namespace
}  // namespace lact::cli
