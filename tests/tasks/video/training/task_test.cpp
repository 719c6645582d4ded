#include "lact/tasks/video/training/task.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "lact/base/memory_use.h"
#include "lact/io/image.h"
#include "lact/io/png.h"
#include "lact/models/video/folder.h"
#include "lact/models/video/weights.h"
#include "lact/tasks/video/training/codec.h"
#include "lact/train/optimizer.h"
#include "lact/train/run_folder.h"
#include "support/errors.h"
#include "support/temporary_folder.h"
#include "support/toy_video_run.h"

namespace lact::tasks::video {
namespace {

namespace fs = std::filesystem;
using TrainingRun = Run;  // inside of a TEST, Run is a method of googletest's
using lact::testing::sentence_of;
using lact::testing::TemporaryFolder;
using lact::testing::toy_video_model;
using lact::testing::toy_video_run;
using lact::testing::toy_words;
using lact::testing::write_file;
using ::testing::HasSubstr;

VideoParts toy_parts(uint64_t seed = 3) {
  at::manual_seed(seed);
  return {std::make_shared<models::VideoModel>(toy_video_model()), std::make_shared<models::PixelCodec>(1),
          std::make_shared<models::WordEncoder>(toy_words())};
}

OpenClips open_with(const ClipsOptions& clips, const VideoParts& parts) {
  return [=](const Stage& stage, const data::ClipShape& shape, data::ClipPart part) {
    return open_clips(clips, parts, stage.chunks, shape, 1, part);
  };
}

TaskOptions toy_options() {
  TaskOptions options;
  options.stages = toy_video_run().stages;
  options.valid_clips = 2;
  return options;
}

std::shared_ptr<TrainingTask> toy_task(const TaskOptions& options, const VideoParts& parts = toy_parts()) {
  return std::make_shared<TrainingTask>(parts, open_with({}, parts), options);
}

std::map<std::string, at::Tensor> weights_of(torch::nn::Module& model) {
  std::map<std::string, at::Tensor> weights;
  for (const auto& item : model.named_parameters()) weights[item.key()] = item.value().detach().clone();
  return weights;
}

/// A fresh model answers zero, whatever its memory holds: some steps later it does not.
void train_steps(TrainingTask& task, int64_t steps, double rate) {
  train::Optimizer optimizer(task.model(), {},
                             [&](const std::string& parameter) { return task.rate_factor(parameter); });
  for (int64_t step = 0; step < steps; ++step) {
    optimizer.zero_gradients();
    task.loss(0).backward();
    optimizer.step(rate);
  }
}

TEST(VideoTraining, ABatchOfANumberIsAlwaysTheSame) {
  const double second = toy_task(toy_options())->loss(1).item<double>();
  const auto task = toy_task(toy_options());
  task->loss(0);
  EXPECT_EQ(task->loss(1).item<double>(), second);
  EXPECT_NE(task->loss(0).item<double>(), second);
}

TEST(VideoTraining, AFreshModelsLossIsThatOfAnsweringZero) {
  TaskOptions options = toy_options();
  options.learning.flow.weighted = false;
  // Noise of variance 1 and pixels of at most 1: the velocity's square is between 1 and 2.
  const double loss = toy_task(options)->loss(0).item<double>();
  EXPECT_GT(loss, 1);
  EXPECT_LT(loss, 2);
  options.learning.flow.weighted = true;
  EXPECT_NE(toy_task(options)->loss(0).item<double>(), loss);
}

/// One grey clip, whatever is asked for.
class GreyClips : public data::ClipSource {
 public:
  explicit GreyClips(const data::ClipShape& shape) : shape_(shape) {}
  data::Clip clip(uint64_t) const override {
    return {at::full({shape_.frames, 3, shape_.height, shape_.width}, 90, at::kByte), "grey", 8};
  }
  std::string caption(uint64_t) const override { return "grey"; }
  std::string identity(uint64_t) const override { return "grey"; }
  data::ClipShape shape() const override { return shape_; }

 private:
  data::ClipShape shape_;
};

// A fresh model answers zero, so that the unweighted loss of equal clips tells the noise alone.
TEST(VideoTraining, EveryBatchHasNoiseOfItsOwn) {
  auto options = toy_options();
  options.learning.flow.weighted = false;
  const auto parts = toy_parts();
  TrainingTask task(
      parts,
      [](const Stage&, const data::ClipShape& shape, data::ClipPart) {
        return std::make_shared<GreyClips>(shape);
      },
      options);
  const double first = task.loss(0).item<double>();
  EXPECT_EQ(task.loss(0).item<double>(), first);
  EXPECT_NE(task.loss(1).item<double>(), first);
}

TEST(VideoTraining, StagesChangeLengthAndSizeAtTheirSteps) {
  TaskOptions options = toy_options();
  auto task = toy_task(options);
  // Two clips of 4 noisy and 3 clean chunks of 2 frames of 16 tokens; then one of 5 and 4 of 24 tokens.
  EXPECT_EQ(task->tokens_of_batch(1), 2 * 7 * 2 * 16);
  EXPECT_EQ(task->tokens_of_batch(2), 1 * 9 * 2 * 24);
  options.learning.noise_repeats = 2;
  options.accumulate = 2;
  task = toy_task(options);
  EXPECT_EQ(task->tokens_of_batch(3), 2 * 11 * 2 * 16);
  EXPECT_EQ(task->tokens_of_batch(4), 1 * 14 * 2 * 24);
  EXPECT_GT(task->flops_of_batch(0), 0);
  for (const int64_t batch : {0, 4}) EXPECT_TRUE(std::isfinite(task->loss(batch).item<double>()));
}

TEST(VideoTraining, LearnsABatchByHeart) {
  const auto task = toy_task(toy_options());
  const double before = task->loss(0).item<double>();
  train_steps(*task, 40, 1e-2);
  EXPECT_LT(task->loss(0).item<double>(), 0.7 * before);
}

TEST(VideoTraining, ValidatesOnClipsThatAreNotTrainedOn) {
  TemporaryFolder folder;
  TaskOptions options = toy_options();
  options.samples = folder / "samples";
  const auto task = toy_task(options);
  task->loss(0);
  const auto figures = task->validate();
  EXPECT_GT(figures.at("loss"), 1);
  EXPECT_LT(figures.at("loss"), 2);
  EXPECT_NE(figures.at("loss"), figures.at("last_chunk_loss"));
  EXPECT_EQ(task->validate(), figures);
  // Two clips of 8 frames, truth above what the model makes of the first chunk.
  const at::Tensor sheet = io::read_image(folder / "samples/step_0000001.png");
  EXPECT_EQ(sheet.sizes(), (std::vector<int64_t>{4 * 16 + 3 * 2, 8 * 16 + 7 * 2, 3}));
  EXPECT_TRUE(sheet.slice(0, 0, 16).slice(1, 0, 16).equal(sheet.slice(0, 18, 34).slice(1, 0, 16)));
}

TEST(VideoTraining, ACaptionThatIsWithheldTeachesNoWord) {
  for (const double dropout : {0.0, 1.0}) {
    TaskOptions options = toy_options();
    options.learning.text_dropout = dropout;
    const auto task = toy_task(options);
    train_steps(*task, 2, 1e-2);
    const auto before = weights_of(task->model());
    train_steps(*task, 1, 1e-2);
    const auto after = weights_of(task->model());
    EXPECT_FALSE(after.at("text.end").equal(before.at("text.end")));
    EXPECT_EQ(after.at("text.words").equal(before.at("text.words")), dropout == 1) << dropout;
  }
}

TEST(VideoTraining, AttentionAloneIsTrainedIfAsked) {
  TaskOptions options = toy_options();
  options.learning.train = TrainedPart::attention;
  const VideoParts parts = toy_parts();
  {
    at::NoGradGuard no_grad;
    for (auto& item : parts.model->named_parameters())
      if (item.key().starts_with("head.")) item.value().normal_(0, 0.3);
  }
  const auto task = toy_task(options, parts);
  const auto before = weights_of(task->model());
  train_steps(*task, 3, 1e-2);
  int changed = 0;
  for (const auto& [name, weight] : weights_of(task->model())) {
    if (!models::is_self_attention_parameter(name)) EXPECT_TRUE(weight.equal(before.at(name))) << name;
    changed += weight.equal(before.at(name)) ? 0 : 1;
  }
  EXPECT_GT(changed, 5);
}

TEST(VideoTraining, ARunLeavesAWholeModelAndGoesOnBitForBit) {
  TemporaryFolder folder;
  TrainingRun run = toy_video_run();
  run.learning.noise_repeats = 2;
  train::start_run(run, {.folder = folder / "whole"});
  EXPECT_FALSE(train::start_run(run, {.folder = folder / "cut", .stop_after = 3}).finished);
  const train::TrainResult resumed = train::resume_run<TrainingRun>({.folder = folder / "cut"});
  EXPECT_TRUE(resumed.finished);
  EXPECT_GT(resumed.validation.at("loss"), 0.5);
  const VideoParts whole = load_video_parts(folder / "whole"), cut = load_video_parts(folder / "cut");
  EXPECT_EQ(fingerprint(*cut.model), fingerprint(*whole.model));
  EXPECT_TRUE(cut.text->encode({"a red star"}).equal(whole.text->encode({"a red star"})));
  EXPECT_FALSE(
      whole.text->encode({"a red star"}).equal(models::WordEncoder(toy_words()).encode({"a red star"})));
  EXPECT_TRUE(fs::exists(folder / "whole/samples/step_0000004.png"));
  EXPECT_SENTENCE(train::start_run(run, {.folder = folder / "cut"}), "holds a run already");
}

TEST(VideoTraining, AMemoryThatIsAddedLearnsFaster) {
  TemporaryFolder folder;
  TrainingRun window = toy_video_run(3);
  window.model.mixer = models::MixerKind::window;
  train::start_run(window, {.folder = folder / "window"});
  TrainingRun run = toy_video_run(3);
  run.training.rate = 1e-9;
  run.initial_model = folder / "window";
  train::start_run(run, {.folder = folder / "lact"});
  EXPECT_EQ(train::read_run_file<TrainingRun>(folder / "lact").learning.new_rate, 10);
  EXPECT_EQ(train::read_run_file<TrainingRun>(folder / "window").learning.new_rate, 1);
  // What the window model had learned is there, its text encoder included.
  const VideoParts before = load_video_parts(folder / "window"), after = load_video_parts(folder / "lact");
  EXPECT_EQ(after.model->config().mixer, models::MixerKind::lact);
  const auto weights = weights_of(*after.model);
  for (const auto& item : before.model->named_parameters())
    EXPECT_TRUE(at::allclose(weights.at(item.key()), item.value(), 0, 1e-6)) << item.key();
  EXPECT_TRUE(at::allclose(after.text->encode({"a star"}), before.text->encode({"a star"}), 0, 1e-5));

  TaskOptions options = toy_options();
  options.learning.new_rate = 10;
  const auto task = toy_task(options);
  EXPECT_EQ(task->rate_factor("model.blocks.0.mixer.memory.scale.weight"), 10);
  EXPECT_EQ(task->rate_factor("model.head.weight"), 1);
}

TEST(VideoTraining, ClipsOfFilesAreReadOnceIfTheirLatentsAreKept) {
  TemporaryFolder folder;
  for (const char* name : {"a", "b", "c"}) {
    fs::create_directories(folder / ("clips/" + std::string(name)));
    for (int i = 0; i < 8; ++i)
      io::write_png(folder / fmt::format("clips/{}/frame_{}.png", name, i),
                    at::full({16, 16, 3}, 20 * i + name[0] - 'a', at::kByte));
    write_file(folder / ("clips/" + std::string(name) + "/caption.txt"), "it grows brighter");
  }
  TaskOptions options = toy_options();
  options.stages = {{.chunks = 4, .clips = 2}};
  const VideoParts parts = toy_parts();
  ClipsOptions clips;
  clips.files.paths = {folder / "clips"};
  clips.files.valid_share = 0.3;
  const auto loss = [&] {
    return TrainingTask(parts, open_with(clips, parts), options).loss(0).item<double>();
  };
  const double read = loss();
  options.cache = folder / "latents";
  EXPECT_EQ(loss(), read);
  EXPECT_GE(std::distance(fs::directory_iterator(folder / "latents"), {}), 2);
  EXPECT_EQ(loss(), read);
}

TEST(VideoTraining, WhatCannotWorkIsRefused) {
  const auto stages = [](const std::vector<Stage>& given) { check_stages(given, 5); };
  EXPECT_SENTENCE(stages({{.chunks = 0}}), "stage 1: chunks is 0");
  EXPECT_SENTENCE(stages({{.steps = 2}, {.steps = 2}}), "4 steps together, but the run 5");
  EXPECT_SENTENCE(check_shapes({{.height = 18}}, toy_parts()),
                  "height 18 does not divide into patches of 4 pixels");
  Learning learning;
  learning.noise_repeats = 3;
  EXPECT_SENTENCE(learning.check(), "noise_repeats is 3, expected 1 to 2");
  learning = {};
  learning.text_dropout = 1.5;
  EXPECT_SENTENCE(learning.check(), "text_dropout is 1.5");
  learning = {};
  learning.flow.shift = -1;
  EXPECT_SENTENCE(learning.check(), "shift is -1");

  TemporaryFolder folder;
  TrainingRun run = toy_video_run();
  run.model.in_channels = 16;
  EXPECT_SENTENCE(train::start_run(run, {.folder = folder / "run"}), "name the autoencoder by --codec");
  EXPECT_FALSE(fs::exists(folder / "run"));
  EXPECT_SENTENCE(train::resume_run<TrainingRun>({.folder = folder / "run"}), "holds no run to resume");
}

TEST(VideoTraining, AModelThatCannotBeTrainedHereIsRefusedBeforeItIsMade) {
  TrainingRun run = toy_video_run();
  // Its weights alone would fit.
  run.model.feed_forward.hidden_dim =
      machine_memory_bytes() / 16 / run.model.model_dim / run.model.num_layers;
  EXPECT_SENTENCE(run.make_task("", ""),
                  "not enough memory for weights, gradients and moments of a model of ");
}

TEST(VideoTraining, NumbersAreCheckedBeforeAnythingIsComputedWithThem) {
  TemporaryFolder folder;
  for (const int64_t value : {int64_t(-2), std::numeric_limits<int64_t>::max()}) {
    const std::string found = fmt::format(" is {}", value);
    CodecRun codec;
    codec.clips.stories.gap_max = value;
    EXPECT_SENTENCE(train::start_run(codec, {.folder = folder / "run"}), "gap_max" + found);
    codec = {};
    codec.size.frames = value;
    EXPECT_SENTENCE(train::start_run(codec, {.folder = folder / "run"}), "frames" + found);
    codec = {};
    codec.size.height = value;
    EXPECT_SENTENCE(train::start_run(codec, {.folder = folder / "run"}), "height" + found);
    TrainingRun run = toy_video_run();
    run.clips.stories.gap_max = value;
    EXPECT_SENTENCE(train::start_run(run, {.folder = folder / "run"}), "gap_max" + found);
    run = toy_video_run();
    run.stages[0].chunks = value;
    EXPECT_SENTENCE(train::start_run(run, {.folder = folder / "run"}), "stage 1: chunks" + found);
    EXPECT_SENTENCE(check_shapes({{.chunks = value}}, toy_parts()), "chunks" + found);
  }
  CodecRun codec;
  codec.loss.kl_weight = std::nan("");
  EXPECT_SENTENCE(train::start_run(codec, {.folder = folder / "run"}), "kl_weight is nan");
  EXPECT_FALSE(fs::exists(folder / "run"));
}

TEST(VideoTraining, TheShiftFollowsFromTheTokensOfAChunkUnlessOneIsChosen) {
  Learning learning;
  EXPECT_NEAR(learning.flow_for(4680).shift, 2.1135, 1e-4);
  learning.flow.shift = 3;
  EXPECT_EQ(learning.flow_for(4680).shift, 3);

  // A chunk of the first stage has two frames of 16 tokens.
  const auto loss = [](double shift) {
    TaskOptions options = toy_options();
    options.learning.flow.shift = shift;
    options.learning.flow.weight_time = models::WeightTime::shifted;  // a fresh model answers zero
    return toy_task(options)->loss(0).item<double>();
  };
  EXPECT_EQ(loss(0), loss(models::shift_of_chunk(32)));
  EXPECT_NE(loss(0), loss(3));
}

TEST(VideoTraining, TheRateFallsAsTheAuthorsUnlessAnEarlierVersionBeganTheRun) {
  EXPECT_EQ(TrainingRun().training.rate_decay, train::RateDecay::linear);
  EXPECT_EQ(TrainingRun().training.rate_floor, 0);
  TemporaryFolder folder;
  options::Json json = options::write(toy_video_run());
  json.erase("initial_model");
  json["training"].erase("rate_decay");
  json["training"]["rate_floor"] = 0.1;
  json["learning"]["flow"]["shift"] = 3;
  train::write_run_json(folder / "", json);
  const auto run = train::read_run_file<TrainingRun>(folder / "");
  EXPECT_EQ(run.training.rate_decay, train::RateDecay::cosine);
  EXPECT_EQ(run.learning.flow_for(32).shift, 3);
  EXPECT_EQ(run.initial_model, "");
}

TEST(VideoTraining, ARunThatBeganWithAModelAndEndedAtOnceKeepsItsWeights) {
  TemporaryFolder folder;
  TrainingRun first = toy_video_run(2);
  first.stages = {{.chunks = 4, .clips = 1}};
  train::start_run(first, {.folder = folder / "first"});
  TrainingRun run = first;
  run.initial_model = folder / "first";
  run.training.steps = 3;
  train::start_run(run, {.folder = folder / "whole"});
  // Ended before its first step, and the initial model is no more.
  train::start_run(run, {.folder = folder / "cut", .stop = [] { return true; }});
  fs::rename(folder / "first", folder / "gone");
  train::resume_run<TrainingRun>({.folder = folder / "cut"});
  EXPECT_EQ(fingerprint(*load_video_parts(folder / "cut").model),
            fingerprint(*load_video_parts(folder / "whole").model));
}

TEST(VideoTraining, APlanTellsStagesAndWork) {
  const std::string plan = train::plan_text(toy_video_run(10));
  for (const char* line : {"\nwork ", "\nspeed ", "\ntime "}) EXPECT_THAT(plan, HasSubstr(line));
  EXPECT_THAT(plan, HasSubstr("2 steps of 2 clips, 4 chunks of 2 frames of 16 x 16 pixels, 448 tokens each"));
  EXPECT_THAT(plan, HasSubstr("8 steps of 1 clips, 5 chunks of 2 frames of 16 x 24 pixels, 432 tokens each"));
}

}  // namespace
}  // namespace lact::tasks::video
