// PyTorch as the peer: it computes the same thing, and nothing it does wrong stops a benchmark.
#include "lact/bench/peer.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "lact/base/error.h"
#include "lact/bench/lm_problem.h"
#include "lact/bench/nvs_problem.h"
#include "lact/bench/recurrence_problem.h"
#include "lact/bench/session.h"
#include "lact/bench/splat_problem.h"
#include "lact/bench/ttt_problem.h"
#include "support/places.h"
#include "support/temporary_folder.h"

namespace lact::bench {
namespace {

using lact::testing::sentence_of;
using ::testing::HasSubstr;

/// A program in place of Python.
class FakePeer : public ::testing::Test {
 protected:
  PeerOptions options(const std::string& script) {
    lact::testing::write_file(folder_ / "serve.py", "");
    lact::testing::write_file(folder_ / "python", "#!/bin/sh\n" + script);
    chmod((folder_ / "python").c_str(), 0755);
    PeerOptions options;
    options.python = folder_ / "python";
    options.folder = folder_ / "";
    options.longest_answer = 0.2;
    return options;
  }
  lact::testing::TemporaryFolder folder_;
};

const std::string kHello = "read line; echo '{\"torch\": \"9\", \"compile\": false}'\n";

TEST_F(FakePeer, ThatIsMissingIsOneSentence) {
  auto missing = options("");
  missing.python = "/nowhere/python";
  EXPECT_THAT(sentence_of<Error>([&] { Peer peer(missing); }), HasSubstr("/nowhere/python is not installed"));
  missing = options("");
  missing.folder = "/nowhere";
  EXPECT_THAT(sentence_of<Error>([&] { Peer peer(missing); }), HasSubstr("/nowhere: there is no serve.py"));
}

TEST_F(FakePeer, ThatDiesSaysRubbishOrHangsIsOneSentence) {
  EXPECT_THAT(sentence_of<Error>([&] { Peer peer(options("exit 1")); }), HasSubstr("stopped"));
  EXPECT_THAT(sentence_of<Error>([&] { Peer peer(options("read line; echo hello; read line")); }),
              HasSubstr("something else than JSON"));
  EXPECT_THAT(sentence_of<Error>([&] { Peer peer(options("read line; echo '{}'; read line")); }),
              HasSubstr("does not greet"));
  Peer dying(options(kHello + "read line; exit 1"));
  EXPECT_THAT(sentence_of<Error>([&] { dying.ask({{"op", "x"}}); }), HasSubstr("stopped"));
  EXPECT_FALSE(dying.alive());
  Peer hanging(options(kHello + "read line; exec sleep 20"));
  EXPECT_THAT(sentence_of<Error>([&] { hanging.ask({{"op", "x"}}); }), HasSubstr("no answer within"));
  EXPECT_FALSE(hanging.alive());
}

TEST_F(FakePeer, ThatFailsAtOneThingLivesOn) {
  Peer peer(options(kHello +
                    "read line; echo '{\"error\": \"no\"}'; read line; echo '{\"seconds\": 2}'; read line"));
  EXPECT_EQ(peer.version(), "9");
  EXPECT_FALSE(peer.has("compile"));
  EXPECT_THAT(sentence_of<Error>([&] { peer.ask({{"op", "x"}}); }), HasSubstr("no"));
  EXPECT_TRUE(peer.alive());
  EXPECT_EQ(peer.ask({{"op", "x"}}).at("seconds"), 2);
}

/// Asks Debian's PyTorch for the norms of output and gradients.
class RealPeer : public ::testing::Test {
 protected:
  void SetUp() override {
    PeerOptions options;
    options.folder = lact::testing::source_folder() + "/bench/peers";
    try {
      peer_ = std::make_unique<Peer>(options);
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  void expect_same(options::Json request, const std::vector<at::Tensor>& ours) {
    request["norms"] = true;
    request["precision"] = "f32";
    const auto norms = peer_->ask(request).at("norms").get<std::vector<double>>();
    ASSERT_EQ(norms.size(), ours.size());
    for (size_t i = 0; i < norms.size(); ++i) {
      const double expected = ours[i].to(at::kDouble).norm().item<double>();
      EXPECT_NEAR(norms[i], expected, 1e-3 * expected) << request.dump() << " tensor " << i;
    }
  }

  std::unique_ptr<Peer> peer_;
};

TEST_F(RealPeer, ComputesTheSameScan) {
  for (const TttShape& shape : {TttShape{2, 48, 48, 16, 24}, TttShape{2, 60, 24, 16, 16, true, true},
                                TttShape{2, 60, 24, 16, 16, true, true, 5, "linear"},
                                TttShape{2, 60, 16, 16, 16, false, false, 5, "ttt_linear"},
                                TttShape{2, 60, 16, 16, 64, false, false, 5, "ttt_mlp"}}) {
    const TttProblem problem(shape, at::kFloat);
    for (const char* form : {"official", "token_major"}) {
      expect_same({{"op", "ttt"},
                   {"heads", shape.heads},
                   {"tokens", shape.tokens},
                   {"chunk", shape.chunk},
                   {"width", shape.width},
                   {"hidden", shape.hidden},
                   {"muon", shape.muon},
                   {"momentum", shape.momentum},
                   {"backward", true},
                   {"network", shape.network},
                   {"form", form}},
                  problem.forward_backward(false));
    }
  }
}

TEST_F(RealPeer, ComputesTheSameRecurrences) {
  const std::vector<std::pair<std::string, std::string>> forms = {{"gla", "factorised"}, {"gla", "halved"},
                                                                  {"delta_rule", "32"},  {"delta_rule", "64"},
                                                                  {"ssd", "64"},         {"ssd", "128"}};
  for (const auto& [rule, form] : forms) {
    const RecurrenceShape shape = {rule, 2, 256, 20};
    expect_same({{"op", "recurrence"},
                 {"rule", rule},
                 {"heads", shape.heads},
                 {"tokens", shape.tokens},
                 {"width", shape.width},
                 {"backward", true},
                 {"form", form}},
                RecurrenceProblem(shape, at::kFloat).run(true));
  }
}

TEST_F(RealPeer, ComputesTheSamePicturesOfGaussians) {
  const SplatShape shape = {300, 50};
  for (const char* form : {"16 logs", "8 logs", "8 cumprod"}) {
    expect_same({{"op", "splat"},
                 {"gaussians", shape.gaussians},
                 {"side", shape.side},
                 {"backward", true},
                 {"form", form}},
                SplatProblem(shape).run(true));
  }
}

TEST_F(RealPeer, HasAModelOfTheSameSize) {
  const auto config = quick_lm().config;
  const auto answer = peer_->ask(
      {{"op", "train"}, {"sizes", peer_sizes(config)}, {"tokens", 8}, {"precision", "f32"}, {"norms", true}});
  double theirs = 0, ours = 0;
  for (const auto& norm : answer.at("norms")) theirs += norm.get<double>() * norm.get<double>();
  for (const auto& parameter : make_model(config)->parameters()) ours += double(parameter.numel());
  EXPECT_NEAR(theirs, ours, 0.5);
}

TEST_F(RealPeer, HasAViewSynthesisModelOfTheSameSize) {
  NvsShape shape = {"quick", {}, 2, 1, 16};
  shape.config.patch_size = 4;
  shape.config.model_dim = 32;
  shape.config.num_layers = 2;
  shape.config.attention = models::nvs_attention(2);
  shape.config.feed_forward.hidden_dim = 64;
  double ours = 0;
  for (const auto& parameter : NvsProblem(shape).model().parameters()) ours += double(parameter.numel());
  for (const char* op : {"nvs_reconstruct", "nvs_render", "nvs_train"}) {
    options::Json request = nvs_peer_request(shape, op);
    request["precision"] = "f32";
    EXPECT_GT(peer_->ask(request).at("seconds").get<double>(), 0) << op;
    request["norms"] = true;
    double theirs = 0;
    const options::Json answer = peer_->ask(request);
    for (const auto& norm : answer.at("norms")) theirs += norm.get<double>() * norm.get<double>();
    EXPECT_NEAR(theirs, ours, 0.5);
  }
}

}  // namespace
}  // namespace lact::bench
