#include "lact/reproduce/views/contenders.h"

namespace lact::reproduce::views {

namespace {

// Small patches and few channels: 8 views of 16 x 16 pixels are 512 tokens, 11 times the width. The paper's
// 8 views of 256 x 256 are 8,192 tokens, 11 times its 768 channels.
const std::vector<std::string> kSmall = {"patch_size=2", "model_dim=48", "num_layers=4",
                                         "attention.attention.num_heads=2"};
const char* const kUsualHidden = "192";

Contender small_model(const std::string& id, const std::string& label,
                      const std::vector<std::string>& changes, const std::string& hidden = kUsualHidden) {
  Contender contender = {id, label, "nvs_tiny", kSmall};
  contender.changes.push_back("feed_forward.hidden_dim=" + hidden);
  contender.changes.insert(contender.changes.end(), changes.begin(), changes.end());
  return contender;
}

}  // namespace

Setting setting_of(const Plan& plan) {
  Setting setting;
  setting.seeds = plan.seeds;
  if (plan.smoke()) {
    setting.inputs = 2;
    setting.targets = setting.batch = 1;
    setting.counts = {1, 2};
    setting.rates = {"0.006"};
    setting.splat_iterations = 20;
    return setting;
  }
  setting.steps = plan.by_budget({2, 600, 2400, 3600});
  setting.sweep_steps = setting.steps / 2;  // shorter ones favour rates that are too high at full length
  setting.warmup = 50;
  setting.validations = 20;
  setting.valid_scenes = 32;
  setting.test_scenes = 64;
  setting.counts = {2, 4, 8, 16, 32};
  setting.rates = {"0.003", "0.006", "0.012"};
  setting.captures = plan.by_budget({1, 2, 4, 4});
  setting.splat_iterations = plan.by_budget({20, 1000, 2000, 3000});
  return setting;
}

Contender lact_model(const std::string& multiple) {
  return small_model("lact_x" + multiple, "LaCT, hidden width " + multiple + " d",
                     {"lact.memory.hidden_multiple=" + multiple});
}

Contender main_model() {
  Contender contender = lact_model("2");
  contender.label = "LaCT";
  return contender;
}

Contender gradient_descent_model() {
  return small_model("lact_gd", "LaCT, gradient descent", {"lact.memory.update.muon=false"});
}

Contender momentum_model() {
  return small_model("lact_momentum", "LaCT, momentum",
                     {"lact.memory.update.muon=false", "lact.memory.update.momentum=true"});
}

Contender linear_model() {
  return small_model("lact_linear", "LaCT, linear", {"lact.memory.network=linear"});
}

Contender mamba2_model() {
  // As the paper's 8 heads of 192 in 768 channels: each direction d²/2.
  return small_model("mamba2", "Mamba-2, both directions",
                     {"mixer=mamba2", "mamba2.num_heads=8", "mamba2.head_dim=12"});
}

Contender full_attention_model() {
  // 144 hidden channels more are the parameters of the 6 d² initial fast weights.
  return small_model("full", "full attention", {"mixer=full"}, "336");
}

Contender perceiver_model() {
  return small_model("perceiver", "Perceiver", {"mixer=perceiver", "perceiver.registers=256"}, "208");
}

Contender long_lrm_model() {
  return {"long_lrm",
          "Long-LRM",
          "nvs_long_lrm_tiny",
          {"patch_size=2", "model_dim=48", "feed_forward.hidden_dim=192", "long_lrm.mamba2.head_dim=24",
           "long_lrm.merged_dim=48"}};
}

Words model_words(const Contender& contender) {
  Words words = {"--config", contender.preset};
  for (const std::string& change : contender.changes) words.insert(words.end(), {"--set", change});
  return words;
}

}  // namespace lact::reproduce::views
