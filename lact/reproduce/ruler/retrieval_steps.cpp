#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "lact/reproduce/ruler/retrieval.h"

namespace lact::reproduce::ruler {

namespace {

constexpr const char* kText = "ruler.text";
constexpr const char* kTokenizer = "ruler.tokenizer";

std::string set(const char* field, int64_t value) { return fmt::format("{}={}", field, value); }

/// The paper's layer in small: window attention and fast weights over shared q, k, v. The convolution, which
/// the paper does not have, lets a value meet its key within the budget's few steps, and embeddings that are
/// tied to the output let what was read be said again; all contenders have both.
Words model_words(const Size& size, const Contender& contender) {
  std::vector<std::string> fields = {set("model_dim", size.width),
                                     set("num_layers", size.layers),
                                     set("feed_forward.hidden_dim", 2 * size.width),
                                     set("layer.attention.num_heads", size.width / 32),
                                     "layer.projection.conv_width=4",
                                     "layer.attention.rope.base=1000",
                                     "layer.memory.num_heads=2",
                                     "layer.memory.hidden_multiple=2",
                                     "layer.memory.prepare_qk=[\"silu\",\"l2_norm\"]",
                                     "layer.memory.rope_heads=0",
                                     "layer.memory.initial_weights.rank=0",
                                     "layer.memory.base_rate=0.3",
                                     "layer.memory.output_scale=none",
                                     "layer.gla.num_heads=1",
                                     set("layer.deltanet.num_heads", size.width / 32),
                                     set("chunk_size", size.chunk),
                                     set("window_size", size.chunk),
                                     "init_std=0.08",
                                     "tie_embeddings=true",
                                     "embedding_std=0.25"};
  fields.insert(fields.end(), contender.set.begin(), contender.set.end());
  Words words = {"--config", "lm_tiny"};
  for (const auto& field : fields) {
    words.push_back("--set");
    words.push_back(field);
  }
  return words;
}

Words training_words(const Size& size, const Contender& contender, const std::string& rate, int64_t seed) {
  Words words = {"lm", "train", "--text", "ruler", "--answers-only"};
  const Words model = model_words(size, contender);
  words.insert(words.end(), model.begin(), model.end());
  for (const auto& [name, value] : std::vector<std::pair<const char*, std::string>>{
           {"--tokenizer", fmt::format("@{}/tokenizer.model", kTokenizer)},
           {"--batch", std::to_string(size.batch)},
           {"--length", std::to_string(size.length)},
           {"--shortest", std::to_string(size.shortest)},
           {"--steps", std::to_string(size.steps)},
           {"--optimizer", "muon"},
           {"--rate", rate},
           {"--rate-floor", "0.05"},
           {"--warmup", std::to_string(std::max<int64_t>(1, size.steps / 20))},
           {"--weight-decay", "0"},
           {"--validate-every", std::to_string(size.steps)},
           {"--valid-sequences", std::to_string(4 * size.batch)},
           {"--save-every", std::to_string(size.steps)},
           {"--precision", "f32"},
           {"--seed", std::to_string(seed)},
           {"-o", "@out"}}) {
    words.push_back(name);
    words.push_back(value);
  }
  return words;
}

std::vector<std::string> sweeps(const Size& size, const Contender& contender) {
  std::vector<std::string> ids;
  for (const auto& rate : size.rates) ids.push_back(sweep_id(contender, rate));
  return ids;
}

/// A word for LaCT, or for all that are not so slow; measured on one core.
double training_seconds(const Size& size, const Contender& contender) {
  const double tokens = double(size.batch * size.length * size.steps);
  return tokens * (contender.id.starts_with("lact") ? 30e-6 : 20e-6) * double(size.width * size.layers) / 128;
}

/// Seed 1 of the best rate is the sweep's own training.
std::string trained_folder(const Results& results, const Size& size, const Contender& contender,
                           int64_t seed) {
  return "@" + (seed == 1 ? sweep_id(contender, best_rate(results, size, contender))
                          : training_id(contender, seed));
}

Step scores_step(const Size& size, const Contender& contender, int64_t seed) {
  Step step;
  step.id = scores_id(contender, seed);
  step.label = fmt::format("{}, seed {}: questions", contender.name, seed);
  step.needs = sweeps(size, contender);
  if (seed != 1) step.needs.push_back(training_id(contender, seed));
  step.choose = [size, contender, seed](const Results& results) {
    return Words{"lm",
                 "eval",
                 "--task",
                 "ruler",
                 "--model",
                 contender.id + "=" + trained_folder(results, size, contender, seed),
                 "--lengths",
                 fmt::format("{}", fmt::join(size.lengths, ",")),
                 "--examples",
                 std::to_string(size.examples),
                 "--answer-tokens",
                 std::to_string(size.answer_tokens),
                 "--json"};
  };
  step.work = 6.0 * double(size.lengths.size() * size_t(size.examples)) * 0.05;
  return step;
}

}  // namespace

const std::vector<Contender>& contenders() {
  static const std::vector<Contender> rows = {
      {"full", "Transformer", {"mixer=full"}},
      {"deltanet", "DeltaNet + window", {"mixer=deltanet"}},
      {"gla", "GLA + window", {"mixer=gla"}},
      {"lact_gd",
       "LaCT",
       {"mixer=lact", "layer.memory.update.muon=false", "layer.memory.update.momentum=false"}},
      {"lact_momentum", "LaCT, momentum", {"mixer=lact", "layer.memory.update.muon=false"}},
      {"lact_muon", "LaCT, Muon", {"mixer=lact"}},
  };
  return rows;
}

Size size(const Plan& plan) {
  Size size;
  size.width = plan.smoke() ? 32 : 64;
  size.layers = 2;
  size.chunk = 64;
  size.batch = plan.smoke() ? 1 : 8;
  size.length = plan.smoke() ? 384 : 512;
  size.shortest = plan.smoke() ? 0 : 96;
  size.steps = plan.by_budget({2, 1200, 4800, 7200});
  size.vocabulary = plan.smoke() ? 1024 : 2048;
  size.documents = plan.smoke() ? 200 : 4000;
  size.rates = plan.smoke() ? std::vector<std::string>{"0.003"} : std::vector<std::string>{"0.006", "0.012"};
  size.lengths = plan.smoke() ? std::vector<int64_t>{384} : std::vector<int64_t>{320, 512, 1024};
  size.examples = plan.by_budget({1, 20, 50, 100});
  size.answer_tokens = plan.smoke() ? 8 : 40;
  size.seeds = plan.smoke() ? 1 : plan.seeds;
  return size;
}

std::string sweep_id(const Contender& contender, const std::string& rate) {
  return fmt::format("ruler.{}.rate-{}", contender.id, rate);
}
std::string training_id(const Contender& contender, int64_t seed) {
  return fmt::format("ruler.{}.seed-{}", contender.id, seed);
}
std::string scores_id(const Contender& contender, int64_t seed) {
  return fmt::format("ruler.{}.scores-{}", contender.id, seed);
}
std::string info_id(const Contender& contender) { return fmt::format("ruler.{}.info", contender.id); }

std::vector<Step> steps(const Plan& plan) {
  const Size size = ruler::size(plan);
  std::vector<Step> all;
  all.push_back({kText,
                 "needle tasks as text",
                 {"lm", "text", "ruler", "--documents", std::to_string(size.documents), "--words", "220",
                  "--seed", "99", "-o", "@out/needles.jsonl"}});
  all.push_back(
      {kTokenizer,
       "tokenizer of the needle tasks",
       {"lm", "tokenizer", "train", fmt::format("@{}/needles.jsonl", kText), "-o", "@out/tokenizer.model",
        "--vocabulary-size", std::to_string(size.vocabulary), "--no-split-digits"}});
  for (const auto& contender : contenders()) {
    for (const auto& rate : size.rates) {
      Step step{sweep_id(contender, rate), fmt::format("{}, rate {}, seed 1", contender.name, rate),
                training_words(size, contender, rate, 1)};
      step.work = training_seconds(size, contender);
      all.push_back(std::move(step));
    }
    all.push_back({info_id(contender),
                   contender.name + ": parameters",
                   {"info", "@" + sweep_id(contender, size.rates[0]), "--json"}});
    for (int64_t seed = 1; seed <= size.seeds; ++seed) {
      if (seed > 1) {
        Step step{training_id(contender, seed), fmt::format("{}, seed {}", contender.name, seed), {}};
        step.needs = sweeps(size, contender);
        step.choose = [size, contender, seed](const Results& results) {
          return training_words(size, contender, best_rate(results, size, contender), seed);
        };
        step.work = training_seconds(size, contender);
        all.push_back(std::move(step));
      }
      all.push_back(scores_step(size, contender, seed));
    }
  }
  return all;
}

std::string best_rate(const Results& results, const Size& size, const Contender& contender) {
  std::string best;
  double lowest = std::numeric_limits<double>::infinity();
  for (const auto& rate : size.rates) {
    const double loss = results.last(sweep_id(contender, rate), "valid_loss");
    if (loss < lowest || best.empty()) {
      lowest = loss;
      best = rate;
    }
  }
  return best;
}

}  // namespace lact::reproduce::ruler
