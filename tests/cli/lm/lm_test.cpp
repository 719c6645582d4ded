// The language model's verbs as a user runs them.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <regex>

#include "lact/data/text/word_model.h"
#include "lact/io/safetensors.h"
#include "lact/models/lm/folder.h"
#include "lact/tasks/lm/load.h"
#include "support/places.h"
#include "support/program.h"
#include "support/tiny_lm.h"

namespace lact::cli {
namespace {

namespace fs = std::filesystem;
using lact::testing::expect_mistake;
using lact::testing::interrupt_program;
using lact::testing::make_lm;
using lact::testing::read_file;
using lact::testing::run_program;
using lact::testing::TemporaryFolder;
using lact::testing::tiny_lm;
using lact::testing::write_file;

const std::string kTiny =
    " --threads 1 --config lm_recall --set window_size=32 --set model_dim=16 --set "
    "layer.attention.num_heads=2 "
    "--set feed_forward.hidden_dim=16 --batch 2 --length 48 --warmup 2 --log-every 1 ";

class LmProgram : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }
  std::string quoted(const std::string& name) const { return "'" + path(name) + "'"; }

  /// A model folder for bytes.
  std::string model(int64_t chunk = 8) {
    models::save_lm(path("model"), *make_lm(tiny_lm(chunk, chunk)));
    return quoted("model");
  }

  TemporaryFolder folder_;
};

std::string text_of(size_t bytes) {
  std::string text;
  while (text.size() < bytes)
    text += fmt::format("the {} house of {} stands . ", text.size() % 97, text.size() % 31);
  return text.substr(0, bytes);
}

TEST_F(LmProgram, TrainsResumesAndGivesTheSameModelBitForBit) {
  const auto whole = run_program("lm train" + kTiny + "--steps 20 -o " + quoted("whole"));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const auto json = nlohmann::json::parse(whole.out);
  EXPECT_EQ(json["steps"], 20);

  const auto half = run_program("lm train" + kTiny + "--steps 20 --stop-after 10 -o " + quoted("half"));
  EXPECT_EQ(half.exit_code, 130);
  EXPECT_THAT(half.err, ::testing::HasSubstr("lact lm train --resume"));
  const auto rest = run_program("--threads 1 lm train --resume " + quoted("half"));
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_EQ(read_file(path("half/model.safetensors")), read_file(path("whole/model.safetensors")));
  EXPECT_EQ(nlohmann::json::parse(rest.out)["loss"], json["loss"]);
  for (const std::string name : {"run.json", "metrics.jsonl", "config.json"}) {
    EXPECT_TRUE(fs::exists(path("half/" + name))) << name;
  }
  EXPECT_FALSE(fs::is_empty(path("half/tensorboard")));

  expect_mistake("lm train" + kTiny + "--steps 20 -o " + quoted("whole"), "holds a run already");
  expect_mistake("lm train --rate 1 --resume " + quoted("half"), "--rate cannot be changed");
  expect_mistake("lm train --resume " + quoted("nothing"), "holds no run to resume");
}

TEST_F(LmProgram, ControlCSavesACheckpointAndSaysHowToGoOn) {
  const std::string command = "lm train" + kTiny + "--steps 100000 -o " + quoted("run");
  const auto outcome = interrupt_program(command, "grep -q train: $err");
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_THAT(outcome.err, ::testing::HasSubstr("go on with: lact lm train --resume"));
  const auto rest = interrupt_program("--threads 1 lm train --stop-after 100000 --resume " + quoted("run"),
                                      "grep -q train: $err");
  EXPECT_THAT(rest.err, ::testing::HasSubstr("continuing after step"));
}

TEST_F(LmProgram, TrainsOnTextFilesWithAShareForValidation) {
  fs::create_directories(path("books"));
  write_file(path("books/one.txt"), text_of(4000));
  write_file(path("books/two.txt"), text_of(3000));
  const std::string data = " --data " + quoted("books") + " --cache " + quoted("cache");
  const auto outcome = run_program(
      "lm train" + kTiny + data +
      " --steps 3 --precision bf16 --recompute cheap --ema 0.5 --accumulate 2 -o " + quoted("run"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(nlohmann::json::parse(outcome.out).contains("valid_loss"));
  const auto scored = run_program("lm score --json -m " + quoted("run") + " " + quoted("books"));
  ASSERT_EQ(scored.exit_code, 0) << scored.err;
  const auto rows = nlohmann::json::parse(scored.out);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2]["tokens"], 7000);
  EXPECT_NEAR(rows[2]["bits_per_byte"].get<double>(), rows[2]["loss"].get<double>() / std::log(2.0), 0.02);
}

TEST_F(LmProgram, EveryVerbReadsJsonLines) {
  std::string lines;
  for (int i = 0; i < 20; ++i) {
    lines += nlohmann::json{{"id", i}, {"body", fmt::format("{} {}", i, text_of(200))}}.dump() + "\r\n";
  }
  write_file(path("texts.jsonl"), "\xEF\xBB\xBF" + lines);
  const std::string field = " --text-field body ", texts = quoted("texts.jsonl");
  const auto trained = run_program("lm train" + kTiny + field + "--data " + texts + " --cache " +
                                   quoted("cache") + " --steps 2 -o " + quoted("run"));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_TRUE(nlohmann::json::parse(trained.out).contains("valid_loss"));
  const std::string lm = "-m " + quoted("run") + field;
  const int bytes = 20 * 200 + 10 * 2 + 10 * 3;
  const auto tokens_of = [&](const std::string& rest) {
    const auto outcome = run_program("lm " + rest);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto json = nlohmann::json::parse(outcome.out);
    return json.is_array() ? json[0]["tokens"].get<int>() : json["tokens"].get<int>();
  };
  EXPECT_EQ(tokens_of("score --json " + lm + texts), bytes + 19);
  EXPECT_EQ(tokens_of("score --json --no-end-of-text " + lm + texts), bytes);
  EXPECT_EQ(tokens_of("ingest --json " + lm + texts + " -o " + quoted("x.mem")), bytes + 19);
  const auto evaluated = run_program("lm eval " + lm + "--length 48 --json --data " + texts);
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.err;

  write_file(path("bad.jsonl"), "{\"body\": \"good\"}\n{\"body\": }\n");
  const std::string bad = quoted("bad.jsonl"), sentence = "bad.jsonl: line 2 is not valid JSON, at byte 10";
  expect_mistake("-q lm score " + lm + bad, sentence);
  expect_mistake("-q lm ingest " + lm + bad + " -o " + quoted("y.mem"), sentence);
  expect_mistake("-q lm eval " + lm + "--data " + bad, sentence);
  expect_mistake("-q lm train" + kTiny + field + "--data " + bad + " -o " + quoted("new"), sentence);
  expect_mistake("-q lm tokenizer train " + field + bad + " -o " + quoted("new.model"), sentence);
  expect_mistake("-q lm score -m " + quoted("run") + " " + texts,
                 "texts.jsonl: line 1 has no field \"text\" (it has: body, id)");
  for (const char* name : {"y.mem", "new", "new.model"}) EXPECT_FALSE(fs::exists(path(name))) << name;
}

TEST_F(LmProgram, AnExportedModelIsHalfAsLargeAndWrites) {
  const std::string lm = model();
  write_file(path("model/tokenizer.model"), data::word_model({"it", "was", "dark"}));
  const auto outcome = run_program("lm export " + lm + " -o " + quoted("small"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, ::testing::HasSubstr("as bf16"));
  EXPECT_LT(double(fs::file_size(path("small/model.safetensors"))),
            0.7 * double(fs::file_size(path("model/model.safetensors"))));
  EXPECT_EQ(models::load_lm(path("small"))->config(), models::load_lm(path("model"))->config());
  EXPECT_EQ(read_file(path("small/tokenizer.model")), read_file(path("model/tokenizer.model")));
  const auto written =
      run_program("lm generate -m " + quoted("small") + " -p 'it was' --max-tokens 3 --json");
  EXPECT_EQ(written.exit_code, 0) << written.err;
  EXPECT_EQ(run_program("lm export --type f32 " + lm + " -o " + quoted("whole")).exit_code, 0);
  EXPECT_EQ(read_file(path("whole/model.safetensors")), read_file(path("model/model.safetensors")));
  expect_mistake("lm export " + lm + " -o " + quoted("small"), "holds a model already");
  expect_mistake("lm export " + quoted("none") + " -o " + quoted("other"), "none");
}

TEST_F(LmProgram, TheBuiltInTextAndItsTokenizerAreWritten) {
  const std::string text = " --names 12 --things 6 --facts 8";
  const std::string words = "lm text recall --documents 3 --words 100" + text;
  const std::string tokenizer = quoted("words.model");
  const auto outcome = run_program(words + " -o " + quoted("text.jsonl") + " --tokenizer " + tokenizer);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, ::testing::HasSubstr("3 documents"));
  const auto trained =
      run_program("lm train" + kTiny + text + " --steps 1 --tokenizer " + tokenizer + " -o " + quoted("run"));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const auto scored = run_program("lm score --json -m " + quoted("run") + " " + quoted("text.jsonl"));
  ASSERT_EQ(scored.exit_code, 0) << scored.err;
  const auto tokens = nlohmann::json::parse(scored.out)[0]["tokens"].get<int>();
  EXPECT_GE(tokens, 3 * 100 + 2);  // a word is a token, and one stands between documents
  EXPECT_LE(tokens, 3 * 104 + 2);
  expect_mistake("lm text recall", "give --output, --tokenizer or both");
  expect_mistake("lm text recall --names 4 --facts 8 -o " + quoted("x.jsonl"), "facts is 8, expected 2 to 4");
}

TEST_F(LmProgram, WithoutAModelTheShippedWeightsWriteOrASentenceSaysThatThereAreNone) {
  const auto outcome = run_program("lm generate --prompt 'It was' --max-tokens 2 --json");
  if (tasks::lm::shipped_weights().empty()) {
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err,
                ::testing::HasSubstr("no weights come with this build (weights/lm was not found)"));
  } else {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(nlohmann::json::parse(outcome.out)[0]["tokens"], 2);
    const auto tale = run_program("lm generate --max-tokens 40 --temperature 0");
    EXPECT_EQ(tale.exit_code, 0) << tale.err;
    EXPECT_THAT(tale.out, ::testing::StartsWith("The Tale of Oakley"));
  }
}

TEST_F(LmProgram, BeginsWithTheWeightsOfAnotherModel) {
  const std::string lm = model();
  const auto outcome =
      run_program("--threads 1 lm train --init " + lm +
                  " --batch 1 --length 40 --steps 1 --rate 1e-9 --validate-every 0 -o " + quoted("run"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_FALSE(nlohmann::json::parse(outcome.out).contains("valid_loss"));
  const auto before = models::load_lm(path("model")), after = models::load_lm(path("run"));
  EXPECT_EQ(after->config(), before->config());
  const at::Tensor ids = lact::testing::random_ids(1, 20);
  EXPECT_LT((after->forward(ids) - before->forward(ids)).abs().max().item<double>(), 1e-4);
}

TEST_F(LmProgram, BeginsWithTheWeightsOfAnotherModelInAShorterWindow) {
  const std::string start =
      "lm train --init " + model() + " --batch 1 --length 40 --steps 1 --rate 1e-9 --validate-every 0 ";
  const auto known = models::load_lm(path("model"))->config();
  const auto half = std::to_string(known.window_size / 2);
  const auto outcome = run_program("--threads 1 " + start + "--set window_size=" + half +
                                   " --set chunk_size=" + half + " -o " + quoted("run"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(models::read_lm_config(path("run")).window_size, known.window_size / 2);
  EXPECT_EQ(models::read_lm_config(path("run")).chunk_size, known.window_size / 2);
  expect_mistake(start + "--config lm_tiny -o " + quoted("other"), "--config means nothing with --init");
  expect_mistake(start + "--set num_layers=7 -o " + quoted("other"),
                 "what is changed may not change the weights");
}

TEST_F(LmProgram, ARunThatIsKilledBeforeItsFirstCheckpointKeepsItsInitialWeights) {
  const std::string start = "--threads 1 lm train --init " + model() +
                            " --batch 1 --length 40 --rate 1e-9 --log-every 1 --validate-every 0 ";
  // Ended by force when it has taken a step; another one in the same folder is refused meanwhile.
  const std::string program = "'" + lact::testing::program_file() + "' ";
  write_file(path("run.sh"),
             "cd " + quoted("") + "\n" + program + start +
                 "--steps 100000 --save-every 100000 -o run 2>/dev/null & pid=$!\n"
                 "until test -s run/metrics.jsonl; do kill -0 $pid || exit 9; sleep 0.02; done\n" +
                 program +
                 "lm train --resume run 2>second; test $? = 2 || exit 8\n"
                 "kill -KILL $pid; wait $pid\n"
                 "touch run/run.json.$pid-0.tmp\n");
  EXPECT_EQ(std::system(("timeout 120 bash " + quoted("run.sh")).c_str()), 0);
  EXPECT_EQ(read_file(path("second")), "lact: error: run: another process trains in this folder\n");
  const auto resumed = run_program("--threads 1 lm train --stop-after 2 --resume " + quoted("run"));
  EXPECT_EQ(resumed.exit_code, 130) << resumed.err;
  const auto before = models::load_lm(path("model")), after = models::load_lm(path("run"));
  const at::Tensor ids = lact::testing::random_ids(1, 20);
  EXPECT_LT((after->forward(ids) - before->forward(ids)).abs().max().item<double>(), 1e-4);
  for (const auto& entry : fs::directory_iterator(path("run")))
    EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();

  fs::resize_file(path("run/checkpoints/step-00000000.safetensors"), 100);
  fs::resize_file(path("run/checkpoints/step-00000002.safetensors"), 100);
  const auto damaged = run_program("lm train --resume " + quoted("run"));
  EXPECT_EQ(damaged.exit_code, 2);
  EXPECT_THAT(damaged.err, ::testing::HasSubstr("no checkpoint can be read, damaged are " +
                                                path("run/checkpoints/step-00000002.safetensors")));
  const auto again =
      run_program("--threads 1 lm train --stop-after 1 --from-start --resume " + quoted("run"));
  EXPECT_EQ(again.exit_code, 130) << again.err;
}

TEST_F(LmProgram, DryRunSaysWhatItWouldTake) {
  const auto outcome = run_program("lm train" + kTiny + "--steps 10 --dry-run -o " + quoted("run"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const std::string word : {"parameters", "memory", "operations per token", "tokens/s", "time"}) {
    EXPECT_THAT(outcome.out, ::testing::HasSubstr(word));
  }
  EXPECT_FALSE(fs::exists(path("run")));
}

TEST_F(LmProgram, GeneratesContinuesAndRemembers) {
  const std::string lm = model();
  write_file(path("book.txt"), text_of(100));
  const std::string greedy = " --temperature 0 --max-tokens 20 --ignore-end --json ";
  const auto direct = run_program("lm generate -m " + lm + greedy + "--prompt-file " + quoted("book.txt"));
  ASSERT_EQ(direct.exit_code, 0) << direct.err;
  const auto ingested =
      run_program("lm ingest --json -m " + lm + " " + quoted("book.txt") + " -o " + quoted("book.mem"));
  ASSERT_EQ(ingested.exit_code, 0) << ingested.err;
  EXPECT_EQ(nlohmann::json::parse(ingested.out)["tokens"], 100);
  const std::string memory = " --memory " + quoted("book.mem");
  const auto remembered = run_program("lm generate -m " + lm + greedy + memory + memory);
  ASSERT_EQ(remembered.exit_code, 0) << remembered.err;
  const auto rows = nlohmann::json::parse(remembered.out);
  ASSERT_EQ(rows.size(), 2u);
  const auto text = nlohmann::json::parse(direct.out)[0]["text"];
  EXPECT_EQ(rows[0]["text"], text);
  EXPECT_EQ(rows[1]["text"], text);

  models::save_lm(path("other"), *make_lm(tiny_lm(8, 8), 8));
  expect_mistake("lm generate -m " + quoted("other") + memory, "was made by another model");
}

TEST_F(LmProgram, WritesSeveralTextsAtOnceEachAsIfAlone) {
  const std::string lm = model();
  write_file(path("book.txt"), text_of(30));
  ASSERT_EQ(
      run_program("lm ingest -m " + lm + " " + quoted("book.txt") + " -o " + quoted("book.mem")).exit_code,
      0);
  const std::string command =
      "lm generate -m " + lm + " --temperature 0 --max-tokens 12 --ignore-end --precision f32 ";
  const auto texts = [&](const std::string& rest) {
    const auto outcome = run_program(command + "--json " + rest);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out);
  };
  const std::string memory = " --memory " + quoted("book.mem");
  const auto together = texts("-p one -p another -p third --at-once 2");
  ASSERT_EQ(together.size(), 3u);
  EXPECT_EQ(together[1]["prompt"], "another");
  EXPECT_EQ(together[0]["text"], texts("-p one")[0]["text"]);
  EXPECT_EQ(together[1]["text"], texts("-p another")[0]["text"]);
  const auto remembering = texts("-p one -p another" + memory);
  ASSERT_EQ(remembering.size(), 2u);
  EXPECT_EQ(remembering[1]["text"], texts("-p another" + memory)[0]["text"]);
  EXPECT_NE(remembering[1]["text"], together[1]["text"]);

  const auto plain = run_program(command + "-p one -p another");
  const size_t first = plain.out.find("== one\n"), second = plain.out.find("== another\n");
  EXPECT_EQ(first, 0u);
  EXPECT_LT(first, second);
  EXPECT_LT(second, plain.out.size());
  expect_mistake(command + "-p one -p another --save-memory " + quoted("x.mem"),
                 "--save-memory writes one file, but there are 2 texts");
}

TEST_F(LmProgram, ADraftChangesNothingButTheTime) {
  const std::string lm = model();
  models::save_lm(path("draft"), *make_lm(tiny_lm(8, 8), 8));
  const std::string command =
      "lm generate -m " + lm + " --max-tokens 40 --ignore-end --precision f32 --seed 5 --json -p 'it was' ";
  const auto alone = run_program(command);
  ASSERT_EQ(alone.exit_code, 0) << alone.err;
  for (const std::string& draft : {lm, quoted("draft")}) {
    const auto drafted = run_program(command + "--draft-tokens 2 --draft " + draft);
    ASSERT_EQ(drafted.exit_code, 0) << drafted.err;
    const auto row = nlohmann::json::parse(drafted.out)[0];
    EXPECT_EQ(row["text"], nlohmann::json::parse(alone.out)[0]["text"]);
    EXPECT_GT(row["draft_tokens"], 0);
    EXPECT_LE(row["draft_accepted"], row["draft_tokens"]);
  }
  expect_mistake(command + "--draft " + quoted("nowhere"), "nowhere");
}

TEST_F(LmProgram, KeepsWeightsInFewerBytesAndSaysWhatIsLost) {
  const std::string lm = model();
  write_file(path("book.txt"), text_of(100));
  const auto rows = [&](const std::string& command) {
    const auto outcome = run_program(command);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return std::pair{nlohmann::json::parse(outcome.out), outcome.err};
  };
  double lost = 0;
  for (const std::string format : {"f32", "bf16", "int8"}) {
    const std::string common = " --json -m " + lm + " --weights " + format + " ";
    const auto [scores, report] = rows("lm score" + common + quoted("book.txt"));
    const double error = scores[0]["weight_error"];
    EXPECT_EQ(error == 0, format == "f32");
    EXPECT_GE(error, lost);
    EXPECT_LT(error, 0.02);
    lost = error;
    if (format != "f32") {
      EXPECT_THAT(report, ::testing::HasSubstr("weights as " + format + ": relative error"));
    }
    const auto ingested = rows("lm ingest" + common + quoted("book.txt") + " -o " + quoted("book.mem")).first;
    EXPECT_EQ(ingested["weight_error"], error);
    // A memory belongs to the model, however its weights are kept.
    const auto written =
        rows("lm generate -m " + lm + " --json --max-tokens 5 --ignore-end --memory " + quoted("book.mem"))
            .first;
    EXPECT_EQ(written[0]["tokens"], 5);
    const auto direct = rows("lm generate --prompt abc --max-tokens 5 --ignore-end" + common).first;
    EXPECT_EQ(direct[0]["weight_error"], error);
  }
  expect_mistake("lm generate --prompt a --weights int4 -m " + lm, "expected one of auto, f32, bf16, int8");
  for (const std::string verb : {"generate", "ingest", "score"}) {
    EXPECT_THAT(run_program("lm " + verb + " --help").out, ::testing::HasSubstr("f32, bf16, int8,"));
  }
}

TEST_F(LmProgram, MemoryDoesNotGrowWithTheLength) {
  models::LmConfig config = tiny_lm(512, 512);
  config.model_dim = 64;
  models::save_lm(path("model"), *make_lm(config));
  const auto peak_after = [&](size_t chunks) {
    write_file(path("book.txt"), text_of(512 * chunks));
    const auto outcome = run_program("--threads 1 lm ingest --json -m " + quoted("model") + " " +
                                     quoted("book.txt") + " -o " + quoted("book.mem"));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out);
  };
  const auto few = peak_after(16), many = peak_after(192);
  EXPECT_EQ(many["tokens"], 192 * 512);
  EXPECT_EQ(many["file_bytes"], few["file_bytes"]);
  EXPECT_EQ(many["state_bytes"], few["state_bytes"]);
#if !defined(__SANITIZE_ADDRESS__)  // which keeps what is freed for a while
  // Pages of libraries come and go by a few MB; one vector of each token more would be 23.
  EXPECT_LE(many["peak_memory_bytes"].get<double>(), 8e6 + few["peak_memory_bytes"].get<double>());
#endif
}

TEST_F(LmProgram, EvaluatesLossRecallAndRuler) {
  const std::string lm = model();
  write_file(path("book.txt"), text_of(3000));
  const auto loss = run_program("lm eval -m a=" + lm + " -m b=" + lm + " --data " + quoted("book.txt") +
                                " --length 128 --sequences 3 --bucket 32 --json -o " + quoted("out"));
  ASSERT_EQ(loss.exit_code, 0) << loss.err;
  const auto json = nlohmann::json::parse(loss.out);
  ASSERT_EQ(json["models"].size(), 2u);
  EXPECT_EQ(json["models"][0]["loss"].size(), 4u);
  EXPECT_EQ(json["models"][0]["loss"], json["models"][1]["loss"]);
  EXPECT_TRUE(fs::exists(path("out/loss.svg")) && fs::exists(path("out/loss.json")));

  const auto recall = run_program("lm eval --task recall -m " + lm + " --documents 4 --document-length 300");
  ASSERT_EQ(recall.exit_code, 0) << recall.err;
  EXPECT_THAT(recall.out, ::testing::HasSubstr("chance is 6.2%"));

  const auto ruler =
      run_program("lm eval --task ruler -m " + lm + " --lengths 1200 --examples 2 --answer-tokens 8 --json");
  ASSERT_EQ(ruler.exit_code, 0) << ruler.err;
  EXPECT_EQ(nlohmann::json::parse(ruler.out)["models"][0]["scores"].size(), 6u);
  expect_mistake("lm eval --task rule -m " + lm, "expected one of loss, recall, ruler");
  expect_mistake("lm eval -m " + lm, "--data is missing");
}

TEST_F(LmProgram, TrainsOnNeedlesAndWritesTheBuiltInText) {
  const std::string longer = std::regex_replace(kTiny, std::regex("--length 48"), "--length 700");
  const auto trained = run_program("lm train" + longer +
                                   "--text ruler --ruler-tasks S-NIAH-1,S-NIAH-2 --answers-only "
                                   "--steps 1 --valid-sequences 1 -o " +
                                   quoted("needles"));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  expect_mistake("lm train" + kTiny + "--text ruler --ruler-tasks S-NIAH-1,XY -o " + quoted("x"),
                 "there is no task XY");
  expect_mistake("lm train" + kTiny + "--text ruler --names 4 -o " + quoted("x"),
                 "--names is for Built-in text: recall");
  expect_mistake("lm train" + kTiny + "--shortest 4 -o " + quoted("x"),
                 "--shortest is for Built-in text: ruler");
  expect_mistake("lm train" + kTiny + "--text rulers -o " + quoted("x"), "expected one of recall, ruler");
  write_file(path("book.txt"), text_of(4000));
  expect_mistake("lm train" + kTiny + "--data " + quoted("book.txt") + " --text ruler -o " + quoted("x"),
                 "means nothing for Text files");

  ASSERT_EQ(run_program("lm text ruler --documents 3 --words 200 -o " + quoted("needles.jsonl")).exit_code,
            0);
  std::ifstream lines(path("needles.jsonl"));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto json = nlohmann::json::parse(line);
    EXPECT_THAT(json["text"].get<std::string>(), ::testing::StartsWith(json["prompt"].get<std::string>()));
    EXPECT_FALSE(json["answers"].empty());
  }
  EXPECT_EQ(count, 3);
  ASSERT_EQ(
      run_program("lm text recall --documents 2 --names 8 --facts 4 -o " + quoted("recall.jsonl")).exit_code,
      0);
  EXPECT_THAT(read_file(path("recall.jsonl")), ::testing::HasSubstr("note "));
  expect_mistake("lm text recall --ruler-tasks S-NIAH-1 -o " + quoted("x.jsonl"),
                 "--ruler-tasks is for ruler");
  expect_mistake("lm text novels -o " + quoted("x.jsonl"), "expected one of recall, ruler");
}

TEST_F(LmProgram, TokensThatNobodySeesAreAWarningWhereAModelIsTrainedOrLoaded) {
  const auto warned = ::testing::HasSubstr("window_size 8 is smaller than chunk_size 32: up to 24 tokens");
  const auto trained = run_program("lm train" + kTiny + "--set window_size=8 --steps 1 -o " + quoted("gap"));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_THAT(trained.err, warned);
  const auto written = run_program("lm generate --prompt a --max-tokens 1 -m " + quoted("gap"));
  EXPECT_EQ(written.exit_code, 0);
  EXPECT_THAT(written.err, warned);
  const auto seen = run_program("lm train" + kTiny + "--steps 1 -o " + quoted("seen"));
  EXPECT_THAT(seen.err, ::testing::Not(::testing::HasSubstr("smaller than chunk_size")));
}

TEST_F(LmProgram, MistakesAreOneSentence) {
  const std::string lm = model();
  const auto generate = [&](const std::string& rest) { return "lm generate -m " + lm + " " + rest; };
  expect_mistake(generate(""), "give --prompt, --prompt-file or --memory");
  expect_mistake(generate("--prompt a --temperature -2"),
                 "--temperature: -2 is out of range, expected 0 to 1000");
  expect_mistake(generate("--prompt-file " + quoted("absent")), "absent");
  write_file(path("empty.txt"), "");
  expect_mistake("lm score -m " + lm + " " + quoted("empty.txt"), "is empty");
  expect_mistake("lm ingest -m " + lm + " " + quoted("empty.txt") + " -o " + quoted("x.mem"), "is empty");
  EXPECT_FALSE(fs::exists(path("x.mem")));
  expect_mistake("-q lm train" + kTiny + "--data " + quoted("empty.txt") + " -o " + quoted("run"),
                 "is empty");
  EXPECT_FALSE(fs::exists(path("run")));
  write_file(path("latin.txt"), "caf\xe9 au lait");
  expect_mistake("lm score -m " + lm + " " + quoted("latin.txt"), "not valid UTF-8");
  expect_mistake(generate("--prompt-file " + quoted("latin.txt")), "not valid UTF-8");
  expect_mistake(generate("--prompt \"$(printf 'a\\351b')\""),
                 "byte 1 of the prompt (0xe9) is not valid UTF-8");
  write_file(path("long.txt"), text_of((size_t{16} << 20) + 1));
  expect_mistake(generate("--prompt-file " + quoted("long.txt")), "read longer texts with lact lm ingest");
  write_file(path("short.txt"), "too short");
  expect_mistake(
      "-q lm train" + kTiny + "--data " + quoted("short.txt") + " --valid-share 0 -o " + quoted("run"),
      "fewer than one sequence");
  EXPECT_FALSE(fs::exists(path("run")));
  expect_mistake("lm score -m " + quoted("nowhere") + " " + quoted("short.txt"), "is not a model folder");
}

TEST_F(LmProgram, ATokenizerThatDoesNotFitIsASentence) {
  auto config = tiny_lm(8, 8);
  config.vocabulary_size = 100;
  models::save_lm(path("model"), *make_lm(config));
  expect_mistake("lm generate --prompt a -m " + quoted("model"),
                 "has 256 tokens but the model's vocabulary is 100");
  expect_mistake("lm train" + kTiny + "--set vocabulary_size=100 -o " + quoted("run"),
                 "the model's vocabulary only 100");
  write_file(path("model/tokenizer.model"), "garbage");
  expect_mistake("lm generate --prompt a -m " + quoted("model"), "tokenizer.model");
}

TEST_F(LmProgram, DamagedWeightsAreASentence) {
  const std::string lm = model(), file = path("model/model.safetensors");
  const std::string bytes = read_file(file);
  const auto with = [&](const std::string& changed, const std::string& sentence) {
    write_file(file, changed);
    expect_mistake("lm generate --prompt a -m " + lm, sentence);
  };
  with(bytes.substr(0, bytes.size() - 5), "model.safetensors");
  with(bytes.substr(0, 4), "the weights beside it have 4 B");
  std::string huge = bytes;
  huge[7] = '\x7f';
  with(huge, "the header length is");
  std::string broken = bytes;
  broken[8] = '[';
  with(broken, "model.safetensors");
  std::string type = bytes;
  type.replace(type.find("\"F32\""), 5, "\"X32\"");
  with(type, "X32");
  fs::remove(file);
  expect_mistake("lm generate --prompt a -m " + lm, "holds neither model.safetensors nor");
}

}  // namespace
}  // namespace lact::cli
