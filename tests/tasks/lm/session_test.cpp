#include "lact/tasks/lm/session.h"

#include "lact/models/lm/folder.h"
#include "support/errors.h"
#include "support/temporary_folder.h"
#include "support/tiny_lm.h"

namespace lact::tasks::lm {
namespace {

using lact::testing::make_lm;
using lact::testing::TemporaryFolder;
using lact::testing::tiny_lm;
using lact::testing::write_file;

class LmSession : public ::testing::Test {
 protected:
  LmSession() { models::save_lm(folder_ / "model", *make_lm(tiny_lm())); }

  static models::GenerateOptions greedy(int64_t tokens) {
    models::GenerateOptions options;
    options.max_tokens = tokens;
    options.sampling.temperature = 0;
    options.ignore_end = true;
    return options;
  }

  TemporaryFolder folder_;
};

TEST_F(LmSession, GoesOnFromAMemoryFileAsIfItHadNotStopped) {
  write_file(folder_ / "one.txt", "the house of the seven stands . ");
  write_file(folder_ / "two.txt", "and the river ran");
  const Loaded lm = load(folder_ / "model");
  Session whole(lm);
  whole.read_file(folder_ / "one.txt");
  whole.read_file(folder_ / "two.txt");

  Session first(lm);
  EXPECT_EQ(first.read_file(folder_ / "one.txt"), 32u);
  first.save(folder_ / "one.mem");
  Session second(lm, folder_ / "one.mem");
  EXPECT_EQ(second.position(), 32);
  second.read_file(folder_ / "two.txt");
  EXPECT_EQ(second.position(), 32 + 1 + 17);  // an end of text between them
  EXPECT_EQ(second.position(), whole.position());
  EXPECT_EQ(second.memory_bytes(), whole.memory_bytes());

  const auto expected = whole.write(" home", greedy(12)), written = second.write(" home", greedy(12));
  EXPECT_EQ(written.prompt_tokens, 5);
  EXPECT_EQ(written.tokens.size(), 12u);
  EXPECT_EQ(written.bytes, expected.bytes);
  EXPECT_NE(Session(lm).write(" home", greedy(12)).bytes, expected.bytes);
}

TEST_F(LmSession, DocumentsOfAFileAreReadLikeFiles) {
  write_file(folder_ / "one.txt", "the house");
  write_file(folder_ / "two.txt", "and the river ran");
  write_file(folder_ / "both.jsonl", "{\"t\": \"the house\"}\n{\"t\": \"and the river ran\"}\n");
  const Loaded lm = load(folder_ / "model");
  Session files(lm);
  files.read_file(folder_ / "one.txt");
  files.read_file(folder_ / "two.txt");
  std::vector<int64_t> read;
  const auto on_read = [&](std::span<const int64_t> tokens) {
    read.insert(read.end(), tokens.begin(), tokens.end());
  };
  Session lines(lm);
  EXPECT_EQ(lines.read_file(folder_ / "both.jsonl", on_read, {.text_field = "t"}), 9u + 17u);
  EXPECT_EQ(std::string(read.begin(), read.end()), std::string("the house\0and the river ran", 27));
  EXPECT_EQ(lines.position(), files.position());
  EXPECT_EQ(lines.write(" home", greedy(12)).bytes, files.write(" home", greedy(12)).bytes);

  Session without(lm);
  without.read_file(folder_ / "both.jsonl", {}, {.text_field = "t", .end_of_text = false});
  without.read_file(folder_ / "one.txt", {}, {.end_of_text = false});
  EXPECT_EQ(without.position(), 9 + 17 + 9);
}

TEST_F(LmSession, GivesTextOutAsItIsWritten) {
  std::string text;
  const auto written = Session(load(folder_ / "model")).write("a", greedy(6), [&](const std::string& bytes) {
    text += bytes;
  });
  EXPECT_EQ(text, written.bytes);
}

TEST_F(LmSession, TheMemoryOfAnotherModelIsRefused) {
  models::save_lm(folder_ / "other", *make_lm(tiny_lm(), /*seed=*/4));
  Session session(load(folder_ / "model"));
  session.write("some text", greedy(2));
  session.save(folder_ / "some.mem");
  EXPECT_SENTENCE(Session(load(folder_ / "other"), folder_ / "some.mem"), "was made by another model");
}

}  // namespace
}  // namespace lact::tasks::lm
