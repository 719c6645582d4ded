// A language-model server under many clients: time to the first token and between tokens, and whether anyone
// gets another text than alone. Clients and server are in this process and talk over the loopback.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "lact/base/log.h"
#include "lact/base/memory_use.h"
#include "lact/base/random.h"
#include "lact/bench/areas.h"
#include "lact/bench/lm_problem.h"
#include "lact/bench/serve_client.h"
#include "lact/io/temporary_folder.h"
#include "lact/models/lm/folder.h"
#include "lact/tasks/lm/serving/lm_server.h"

namespace lact::bench {

namespace {

constexpr double kShareOfLeaving = 0.2;

/// A request and the tokens that a stream of its own writes.
struct Question {
  options::Json body;
  std::vector<int64_t> answer;
};

tasks::lm::Loaded served_model(const NamedConfig& named) {
  tasks::lm::Loaded lm;
  lm.path = named.name;
  lm.model = make_model(named.config);
  lm.model->eval();
  lm.tokenizer = data::byte_tokenizer();
  lm.fingerprint = models::fingerprint(*lm.model);
  return lm;
}

Question make_question(const tasks::lm::Loaded& lm, Random& random, int64_t prompt, int64_t written) {
  Question question;
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < prompt; ++i) tokens.push_back(1 + int64_t(random.uniform() * 255));
  models::GenerateOptions options;
  options.max_tokens = written;
  options.ignore_end = true;
  options.sampling.seed = int64_t(random.uniform() * 1e6);
  question.body = {
      {"prompt", tokens}, {"max_tokens", written}, {"ignore_eos", true}, {"seed", options.sampling.seed}};
  models::LmStream stream(lm.model);
  const models::Vocabulary vocabulary = {-1, [](int64_t) { return std::string(); }};
  question.answer = models::generate(stream, tokens, options, vocabulary, [](const std::string&) {}).tokens;
  return question;
}

struct Load {
  std::mutex mutex;
  std::vector<double> first, later;
  int64_t whole = 0, left = 0, wrong = 0, failed = 0, tokens = 0;
  std::string failure;
};

double at_share(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  const auto place = values.begin() + int64_t(share * double(values.size() - 1));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

/// Asks random questions until the time is over; some answers are left in the middle.
void be_a_client(int port, const std::vector<Question>& questions,
                 std::chrono::steady_clock::time_point until, uint64_t seed, Load& load) {
  Random random(seed);
  const ServeClient client(port);
  while (std::chrono::steady_clock::now() < until) {
    const Question& question = questions[size_t(random.uniform() * double(questions.size()))];
    std::optional<int64_t> leave;
    if (random.uniform() < kShareOfLeaving) leave = 1 + int64_t(random.uniform() * 8);
    try {
      const StreamedText text = client.stream(question.body, leave);
      const bool right = text.tokens.size() <= question.answer.size() &&
                         std::equal(text.tokens.begin(), text.tokens.end(), question.answer.begin()) &&
                         (!text.whole || text.tokens.size() == question.answer.size());
      const std::lock_guard lock(load.mutex);
      (text.whole ? load.whole : load.left) += 1;
      load.wrong += right ? 0 : 1;
      load.tokens += int64_t(text.tokens.size());
      load.first.push_back(text.first_seconds);
      // Tokens arrive in bundles: their mean is what a reader waits for.
      if (text.tokens.size() > 1) {
        load.later.push_back(text.later_seconds / double(text.tokens.size() - 1));
      }
    } catch (const std::exception& error) {
      const std::lock_guard lock(load.mutex);
      load.failed += 1;
      load.failure = error.what();
    }
  }
}

void bench_load(Session& session, const NamedConfig& named, const tasks::lm::Loaded& lm,
                tasks::lm::LmServer& server) {
  const auto clients = session.quick() ? 8 : session.options().clients;
  const double seconds = session.quick() ? 0.5 : session.options().seconds;
  Random random(7);
  std::vector<Question> questions;
  const int64_t longest = session.quick() ? 40 : 512, most = session.quick() ? 12 : 64;
  for (int i = 0; i < 16; ++i) {
    questions.push_back(make_question(lm, random, 1 + int64_t(random.uniform() * double(longest)),
                                      1 + int64_t(random.uniform() * double(most))));
  }
  Load load;
  const auto start = std::chrono::steady_clock::now();
  const auto until =
      start + std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
  be_a_client(server.port(), questions, start + std::chrono::milliseconds(200), 1, load);  // warms up
  const int64_t memory = resident_bytes();
  load.first.clear();
  load.later.clear();
  load.tokens = load.whole = load.left = 0;
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < clients; ++i) {
    threads.emplace_back([&, i] { be_a_client(server.port(), questions, until, 100 + uint64_t(i), load); });
  }
  for (auto& thread : threads) thread.join();
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() - 0.2;
  const double grown = double(resident_bytes() - memory) / 1e6;
  const double kept = double(server.engine().store().status().memory_bytes) / 1e6;

  Result row = {"serve", fmt::format("{} {} clients", named.name, clients), "", "first token", "f32"};
  row.wrong = load.wrong > 0 || load.failed > 0;
  row.sizes = {{"clients", clients},
               {"requests", load.whole},
               {"left", load.left},
               {"wrong", load.wrong},
               {"failed", load.failed},
               {"tokens_per_second", double(load.tokens) / took},
               {"memory_growth_mb", grown},
               {"store_mb", kept},
               {"p99_seconds", at_share(load.first, 0.99)}};
  if (row.wrong) {
    log::error("[bench] {} answers were wrong and {} failed: {}", load.wrong, load.failed, load.failure);
    return session.add(row);
  }
  row.seconds = at_share(load.first, 0.5);
  row.note = fmt::format(
      "p99 {:.3f} s; {} answers, {} left, 0 wrong, {:.0f} tokens/s, memory {:+.0f} MB (store {:.0f})",
      at_share(load.first, 0.99), load.whole, load.left, double(load.tokens) / took, grown, kept);
  session.add(row);
  row.pass = "next token";
  row.seconds = at_share(load.later, 0.5);
  row.note = fmt::format("p99 {:.4f} s", at_share(load.later, 0.99));
  row.sizes["p99_seconds"] = at_share(load.later, 0.99);
  session.add(row);
}

/// From the request to the first token after a long prompt: read now, in a warm slot, restored from a slot's
/// file, or of a named memory. Warm and restored slots stand at the end of the prompt alike, and neither
/// knows the answer; a warm slot that has written an answer forgets it first, and is a row of its own, as
/// restoring itself is.
void bench_beginnings(Session& session, const NamedConfig& named, const tasks::lm::Loaded& lm,
                      tasks::lm::LmServer& server) {
  Random random(11);
  const int64_t prompt = session.quick() ? 100 : 3000;
  const Question question = make_question(lm, random, prompt, 4);
  const ServeClient client(server.port());
  options::Json cold = question.body, warm = question.body, remembered = question.body;
  cold["cache_prompt"] = false;
  warm["id_slot"] = 0;
  remembered["prompt"] = options::Json::array();
  const auto add = [&](const std::string& name, const auto& ask, const auto& prepare) {
    Result row = {"serve", fmt::format("{} prompt {}", named.name, prompt), name, "first token", "f32"};
    if (!session.wants(row.shape + " " + name)) return;
    std::vector<double> times;
    int64_t cached = 0;
    for (int i = 0; i < std::max(1, session.options().race.repeats); ++i) {
      prepare();
      const StreamedText text = ask();
      times.push_back(text.first_seconds);
      row.wrong = row.wrong || text.tokens != question.answer;
      cached = text.cached_tokens;
    }
    row.sizes = {{"prompt_tokens", prompt}, {"cached_tokens", cached}};
    if (!row.wrong) {
      row.seconds = *std::min_element(times.begin(), times.end());
      row.median_seconds = at_share(times, 0.5);
      row.note = fmt::format("{} of {} tokens cached", cached, prompt);
    }
    session.add(row);
  };
  const auto nothing = [] {};
  add(
      "cold", [&] { return client.stream(cold); }, nothing);
  client.stream(warm);
  const auto ask_warm = [&] { return client.stream(warm); };
  add("warm slot, behind its answer", ask_warm, nothing);
  options::Json reading = warm;
  reading["max_tokens"] = 0;
  const auto erase = [&] { client.post("/slots/0?action=erase", options::Json::object()); };
  const auto stand_at_the_end = [&] {
    erase();  // the answer, which is the slot's last text
    client.post("/completion", reading);
  };
  const auto restore = [&](int slot, const char* file) {
    const auto start = std::chrono::steady_clock::now();
    client.post(fmt::format("/slots/{}?action=restore", slot), {{"filename", file}});
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  options::Json other = make_question(lm, random, prompt, 1).body;
  other["id_slot"] = 1;
  client.post("/completion", other);
  client.post("/slots/1?action=save", {{"filename", "other"}});
  stand_at_the_end();
  client.post("/slots/0?action=save", {{"filename", "slot"}});
  add("warm slot", ask_warm, [&] {
    stand_at_the_end();
    restore(1, "other");
  });
  std::vector<double> restoring;
  add("restored slot", ask_warm, [&] {
    stand_at_the_end();
    erase();
    restoring.push_back(restore(0, "slot"));
  });
  if (!restoring.empty()) {
    Result row = {"serve", fmt::format("{} prompt {}", named.name, prompt), "restored slot", "restore",
                  "f32"};
    row.seconds = *std::min_element(restoring.begin(), restoring.end());
    row.median_seconds = at_share(restoring, 0.5);
    session.add(row);
  }
  reading["save_memory"] = "prompt";
  client.post("/completion", reading);
  remembered["memory"] = "prompt";
  add(
      "memory", [&] { return client.stream(remembered); }, nothing);
}

}  // namespace

void bench_serve(Session& session) {
  NamedConfig named = session.quick() ? quick_lm() : tiny_lm();
  named.config.vocabulary_size = 256;  // of bytes
  if (!session.wants(named.name)) return;
  const tasks::lm::Loaded lm = served_model(named);
  const io::TemporaryFolder folder;
  tasks::lm::ServingOptions options;
  options.port = 0;
  options.slot_save_path = folder.path();
  options.connections = 4 * std::max<int64_t>(16, session.options().clients);
  tasks::lm::LmServer server(lm, std::nullopt, options);
  bench_load(session, named, lm, server);
  bench_beginnings(session, named, lm, server);
}

}  // namespace lact::bench
