#include "lact/golden/golden.h"

#include <ATen/ATen.h>

#include <filesystem>
#include <fstream>

#include "lact/golden/kinds.h"
#include "lact/io/safetensors.h"
#include "lact/kernels/isa.h"
#include "support/errors.h"
#include "support/places.h"

namespace lact::golden {
namespace {

namespace fs = std::filesystem;

void expect_all_pass(const std::string& folder, const std::string& filter = "") {
  const auto reports = run_all({folder, filter});
  for (const auto& report : reports) {
    EXPECT_TRUE(report.passed()) << report.name << " (" << report.precision << "): " << report.failure;
  }
}

/// A folder of its own with one passing case, for spoiling.
class SpoiledGolden : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("golden_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    at::manual_seed(1);
    tensors_["G"] = at::randn({2, 3, 5});
    tensors_["output"] = tensors_["G"] / (tensors_["G"].norm(2, {1, 2}, true) + 1e-7);
    description_ = options::Json::parse(R"({"case": "c", "kind": "newton_schulz",
      "options": {"coefficients": "fixed", "steps": 0, "dtype": "float32"}, "tensors": {"output": {"tol": 1e-5}}})");
  }

  Report run() {
    std::ofstream(folder_ / "c.json") << description_.dump();
    io::write_safetensors((folder_ / "c.safetensors").string(), {tensors_, {}});
    return run_all({folder_.string(), ""}).front();
  }

  fs::path folder_;
  std::map<std::string, at::Tensor> tensors_;
  options::Json description_;
};

TEST_F(SpoiledGolden, UnspoiledPasses) {
  const Report report = run();
  EXPECT_TRUE(report.passed()) << report.failure;
  EXPECT_TRUE(report.outputs.checked);
  EXPECT_LT(report.outputs.error, 1e-6);
}

TEST_F(SpoiledGolden, ASmallErrorFails) {
  tensors_["output"] = tensors_["output"] + 2e-5 * tensors_["output"].abs().max();
  EXPECT_THAT(run().failure, ::testing::HasSubstr("output is off by 2.0e-05, allowed 1.0e-05"));
}

TEST_F(SpoiledGolden, NotANumberFails) {
  tensors_["G"][0][0][0] = std::nan("");
  EXPECT_FALSE(run().passed());
}

TEST_F(SpoiledGolden, WrongShapeFails) {
  tensors_["output"] = tensors_["output"].transpose(1, 2).contiguous();
  EXPECT_THAT(run().failure, ::testing::HasSubstr("output has shape [2, 3, 5], expected [2, 5, 3]"));
}

TEST_F(SpoiledGolden, ATensorThatIsNotLookedAtFails) {
  tensors_["surprise"] = at::zeros({1});
  EXPECT_THAT(run().failure, ::testing::HasSubstr("tensor surprise was neither used nor compared"));
}

TEST_F(SpoiledGolden, AMissingTensorFails) {
  tensors_.erase("output");
  EXPECT_THAT(run().failure, ::testing::HasSubstr("the case holds no tensor output"));
}

TEST_F(SpoiledGolden, AKindWithoutAFunctionIsNeitherPassedNorFailed) {
  description_["kind"] = "newton_shulz";
  const Report report = run();
  EXPECT_FALSE(report.computed);
  EXPECT_FALSE(report.passed());
  EXPECT_FALSE(report.failed());
  EXPECT_EQ(run_all({folder_.string(), ""}).size(), 1u);
}

TEST_F(SpoiledGolden, UnknownOptionsFail) {
  description_["options"]["step"] = 3;
  EXPECT_THAT(run().failure,
              ::testing::HasSubstr("unknown option options.step; did you mean options.steps?"));
}

TEST_F(SpoiledGolden, WrongGradientsFail) {
  description_["options"]["steps"] = 0;
  tensors_["r"] = at::ones_like(tensors_["G"]);
  tensors_["loss"] = tensors_["output"].sum().reshape({1});
  tensors_["grad.G"] = at::zeros_like(tensors_["G"]);
  EXPECT_THAT(run().failure, ::testing::HasSubstr("grad.G is off by"));
}

// G / |G| for one matrix: d loss / d G = (r - output sum(output r)) / |G|, stored without a tolerance of its
// own.
TEST_F(SpoiledGolden, GradientsAreComparedAsCloselyAsTheyCanBe) {
  const at::Tensor g = tensors_["G"].to(at::kDouble), norm = g.norm(2, {1, 2}, true) + 1e-7;
  const at::Tensor output = g / norm, r = at::randn_like(g);
  const at::Tensor gradient = (r - output * (output * r).sum({1, 2}, true)) / norm;
  tensors_["output"] = output.to(at::kFloat);
  tensors_["r"] = r.to(at::kFloat);
  tensors_["loss"] = (output * r).sum().reshape({1}).to(at::kFloat);
  tensors_["grad.G"] = gradient.to(at::kFloat);
  EXPECT_EQ(run().failure, "");
  tensors_["grad.G"] = (gradient + 2e-4 * gradient.abs().max()).to(at::kFloat);
  EXPECT_THAT(run().failure, ::testing::HasSubstr("grad.G is off by 2.0e-04, allowed 5.0e-05"));
}

TEST_F(SpoiledGolden, EveryCaseRunsInBothPrecisions) {
  run();
  std::vector<std::string> precisions;
  for (const auto& report : run_all({folder_.string(), ""})) precisions.push_back(report.precision);
  EXPECT_EQ(precisions, (std::vector<std::string>{"float32", "float64"}));
}

TEST_F(SpoiledGolden, BrokenFilesAreFailuresAndNotTheEnd) {
  run();
  std::ofstream(folder_ / "b.json") << "{";
  std::ofstream(folder_ / "b.safetensors") << "nothing";
  const auto reports = run_all({folder_.string(), ""});
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_THAT(reports[0].failure, ::testing::HasSubstr("not valid JSON"));
  EXPECT_TRUE(reports[1].passed());
}

TEST(Golden, FoldersWithoutCasesAreAMistake) {
  const fs::path empty = fs::path(::testing::TempDir()) / "golden_empty";
  fs::create_directories(empty);
  EXPECT_SENTENCE(run_all({empty.string(), ""}), "holds no golden case");
  EXPECT_SENTENCE(run_all({"/nowhere", ""}), "/nowhere: no such file or folder");
}

/// Kinds whose numbers are here before the library computes them. A kind that gets its function leaves this
/// list by itself.
const std::set<std::string> kToCome = {"splat.project", "splat.sh",      "splat.render",
                                       "splat.ply",     "gaussian_head", "loss.l1_dssim"};

TEST(Golden, NumbersOfEveryKindComeAlongAndMatch) {
  ASSERT_EQ(bundled_cases(), lact::testing::source_folder() + "/tests/golden");
  std::set<std::string> computed;
  for (const auto& report : run_all({bundled_cases(), ""})) {
    EXPECT_FALSE(report.failed()) << report.name << " (" << report.precision << "): " << report.failure;
    if (report.computed) computed.insert(report.kind);
    EXPECT_TRUE(report.computed || kToCome.count(report.kind) == 1) << report.name << ": " << report.kind;
  }
  for (const auto& kind : kind_names()) EXPECT_EQ(computed.count(kind), 1u) << "no case of kind " << kind;
}

// More of the authors' numbers are not part of the repository; where they lie beside it, they are checked.
class AuthorsGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(AuthorsGolden, NumbersMatch) {
  const fs::path folder = fs::path(lact::testing::source_folder()) / "../shared/golden" / GetParam();
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is absent: the authors' numbers were not checked";
  for (const auto& path : find_cases(folder)) {
    const Case source = read_case(path, folder);
    if (find_kind(source.kind) == nullptr) continue;
    expect_all_pass(path.string());
  }
}

INSTANTIATE_TEST_SUITE_P(Folders, AuthorsGolden,
                         ::testing::Values("ops", "layers", "metrics", "baselines",
                                           "models/lact_llm_momentum",
                                           "models/lact_llm_momentum_muon_lowrank", "models/lact_nvs_tiny",
                                           "models/wan_dit_train_no_repeat", "models/wan_dit_train_repeat2",
                                           "models/wan_dit_ar_inference", "models/flow_matching",
                                           "models/wan_vae_tiny", "models/umt5_encoder_tiny"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

/// How far the output, the fast weights that are left and every gradient of a scan with tokens in bfloat16
/// may be from the float32 numbers. Newton-Schulz lifts small singular values, and their rounding, up to 490
/// times.
struct Bfloat16Bound {
  double plain, muon;
};

void expect_ttt_cases_in_bfloat16(const fs::path& folder, const Bfloat16Bound& bound) {
  int checked = 0;
  for (const auto& path : find_cases(folder)) {
    const Case source = read_case(path, folder);
    if (source.kind != "ttt") continue;
    const auto& options = source.description.at("options");
    const bool muon = options.contains("newton_schulz") && !options["newton_schulz"].is_null();
    Run run(source, at::kBFloat16, muon ? bound.muon : bound.plain);
    run_ttt(run);
    const Report report = run.finish();
    EXPECT_TRUE(report.passed()) << report.name << ": " << report.failure;
    EXPECT_TRUE(report.outputs.checked) << report.name;
    EXPECT_EQ(report.gradients.checked, run.has("r")) << report.name;
    ++checked;
  }
  EXPECT_GT(checked, 0);
}

// Too few tokens for the fused scan, and as many as the fast weights are wide: the reference rounds every
// operation, and small singular values are noise.
TEST(GoldenInBfloat16, OwnScansStayWithinTheBound) {
  expect_ttt_cases_in_bfloat16(bundled_cases(), {0.03, 0.6});
}

class AuthorsScansInBfloat16 : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(folder_)) GTEST_SKIP() << folder_ << " is absent: the authors' numbers were not checked";
  }
  void TearDown() override {
    kernels::set_multiplies_pairs(false);
    kernels::set_isa(kernels::best_isa());
  }
  const fs::path folder_ = fs::path(lact::testing::source_folder()) / "../shared/golden/ops";
};

TEST_F(AuthorsScansInBfloat16, StayWithinTheBoundWhereTokensAreWidened) {
  kernels::set_isa(std::min(kernels::best_isa(), kernels::Isa::avx512));
  expect_ttt_cases_in_bfloat16(folder_, {0.015, 0.06});
}

// Weights, factors of the sums and Newton-Schulz's operands are rounded, too, but not its iterate.
TEST_F(AuthorsScansInBfloat16, StayWithinTheBoundWherePairsAreMultiplied) {
  kernels::set_multiplies_pairs(true);
  expect_ttt_cases_in_bfloat16(folder_, {0.02, 0.2});
}

}  // namespace
}  // namespace lact::golden
