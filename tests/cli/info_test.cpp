// `lact info` as a user runs it.
#include <filesystem>

#include "lact/models/lm/presets.h"
#include "lact/models/presets.h"
#include "support/places.h"
#include "support/program.h"

namespace lact {
namespace {

namespace fs = std::filesystem;
using lact::testing::expect_mistake;
using lact::testing::run_program;
using options::Json;
using ::testing::HasSubstr;

TEST(InfoVerb, PrintsATable) {
  const auto outcome = run_program("info nvs_312m");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const char* text :
       {"nvs_312m: view synthesis, 24 blocks of width 768", "312 M", "84.9 M", "27.2%", "6 d^2 per block",
        "FLOPs per byte", "(paper eq. 3)", "feed-forward", "update", "Muon takes"}) {
    EXPECT_THAT(outcome.out, HasSubstr(text));
  }
}

TEST(InfoVerb, PrintsJsonForPrograms) {
  const auto outcome = run_program("info lm_3b_paper --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json.at("parameters"), models::cost(models::lm_3b_paper()).total().parameters);
  EXPECT_EQ(json.at("state"), 25 * 2304 * 3072);
  EXPECT_DOUBLE_EQ(json.at("state_per_block_d2").get<double>(), 0.75);
  EXPECT_DOUBLE_EQ(json.at("muon").at("break_even_chunk").get<double>(), 5 * 768);
  EXPECT_DOUBLE_EQ(json.at("compute_to_memory").get<double>(), 384 / (1 + 384.0 / 4096));
  int64_t block = 0, others = 0;
  for (const auto& part : json.at("block")) block += part.at("parameters").get<int64_t>();
  for (const auto& part : json.at("others")) others += part.at("parameters").get<int64_t>();
  EXPECT_EQ(json.at("parameters"), 25 * block + others);
}

TEST(InfoVerb, TextAndJsonSayTheSame) {
  const std::string text = run_program("info nvs_312m").out;
  const Json json = Json::parse(run_program("info nvs_312m --json").out);
  EXPECT_EQ(json.at("initial_fast_weights"), json.at("state"));
  EXPECT_THAT(text, HasSubstr(fmt::format("{:<24}{:>8}", "initial fast weights", "84.9 M")));
  const auto& muon = json.at("muon");
  const double chunk = muon.at("break_even_chunk_of_one_matrix").get<double>();
  EXPECT_DOUBLE_EQ(muon.at("break_even_chunk").get<double>(), 3 * chunk);
  EXPECT_THAT(text, HasSubstr(fmt::format(
                        "one of its 3 matrices, as in the paper, {:.3g} head widths = {:.0f} tokens",
                        chunk / muon.at("head_dim").get<double>(), chunk)));
}

TEST(InfoVerb, WithoutMuonThereIsNothingToSayAboutIt) {
  EXPECT_FALSE(Json::parse(run_program("info video_1_3b --json").out).contains("muon"));
}

TEST(InfoVerb, ListsEveryPresetOnALineOfItsOwn) {
  const auto outcome = run_program("info --list");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'),
            std::ptrdiff_t(models::presets().size()));
  for (const auto& preset : models::presets()) EXPECT_THAT(outcome.out, HasSubstr(preset.name + " "));
  EXPECT_EQ(Json::parse(run_program("info --list --json").out).size(), models::presets().size());
}

TEST(InfoVerb, ChangesAreCounted) {
  const Json two =
      Json::parse(run_program("info lm_760m --set layer.memory.num_heads=2 --set num_layers=1 --json").out);
  EXPECT_DOUBLE_EQ(two.at("state_per_block_d2").get<double>(), 1.5);
  EXPECT_EQ(two.at("num_layers"), 1);
  const Json few = Json::parse(run_program("info nvs_312m --views 4 --image-size 256 --json").out);
  EXPECT_EQ(few.at("attended_tokens"), 1024);
  EXPECT_EQ(few.at("chunk_tokens"), 4096);
}

TEST(InfoVerb, ExportedConfigIsTheSameModel) {
  const lact::testing::TemporaryFolder folder;
  const fs::path file = folder / "model.json";
  const auto outcome =
      run_program(fmt::format("info lm_tiny --set chunk_size=64 --export '{}'", file.string()));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  models::LmConfig expected = models::lm_tiny();
  expected.chunk_size = 64;
  EXPECT_EQ(models::resolve_config(file.string()), models::ModelConfig(expected));
  EXPECT_THAT(run_program(fmt::format("info '{}'", file.string())).out, HasSubstr("chunks of 64"));
}

TEST(InfoVerb, TakesTheAuthorsFilesAsTheyAre) {
  const std::string examples = lact::testing::source_folder() + "/tests/models/";
  for (const auto& [file, preset] : {std::pair{"lm/examples/760M_momentum_muon.json", "lm_760m"},
                                     {"nvs/examples/lact_l14_d768_ttt2x.yaml", "nvs_14_layers"},
                                     {"video/examples/lact_ar_chunk3f_1.3B.yaml", "video_1_3b"}}) {
    const auto outcome = run_program(fmt::format("info '{}' --json", examples + file));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "") << file;
    Json theirs = Json::parse(outcome.out),
         ours = Json::parse(run_program(fmt::format("info {} --json", preset)).out);
    theirs.erase("name");
    ours.erase("name");
    EXPECT_EQ(theirs, ours) << file;
  }
}

TEST(InfoVerb, TokensThatNobodySeesAreAWarning) {
  const auto outcome = run_program("info lm_tiny --set window_size=128");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err,
              HasSubstr("lm_tiny: window_size 128 is smaller than chunk_size 512: up to 384 tokens"));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
  for (const char* seen : {"", " --set window_size=1024", " --set window_size=128 --set mixer=window"}) {
    EXPECT_EQ(run_program(fmt::format("info lm_tiny{}", seen)).err, "") << seen;
  }
}

TEST(InfoVerb, MistakesAreOneLineAndExitCodeTwo) {
  expect_mistake("info lm_760", "did you mean lm_760m?");
  expect_mistake("info", "name a preset, a model folder or a config file");
  expect_mistake("info lm_tiny --set layer.memory.num_heads=5", "does not divide model_dim 384");
  expect_mistake("info lm_tiny --set layr.memory.num_heads=4", "did you mean layer?");
  expect_mistake("info lm_tiny --set num_layers", "not of the form name=value");
  expect_mistake("info lm_tiny --views 4", "for view synthesis");
  expect_mistake("info nvs_312m --image-size 100", "does not divide into patches of 8");
  expect_mistake("info no_such_file.json", "no_such_file.json: cannot be opened");
}

TEST(InfoVerb, HelpHasAnExample) {
  EXPECT_THAT(run_program("info --help").out, HasSubstr("Example: lact info "));
}

}  // namespace
}  // namespace lact
