// Memories that have names, and the slots' files: what is restored, forked or rolled back writes what was
// written cold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "lact/tasks/lm/session.h"
#include "support/served_lm.h"

namespace lact::tasks::lm {
namespace {

using nlohmann::json;
using testing::ApiAnswer;
using ::testing::HasSubstr;
using testing::ServedLm;
using testing::TinyLmFolder;

const std::string kBook = "Alice keeps the green key in the tower, and nobody else knows of it today.";
const std::string kQuestion = " Where is the key?";

/// What is written after a prompt, greedily and without the store.
json tokens_after(const ServedLm& served, const std::string& prompt, const std::string& memory = "") {
  json body = {{"prompt", prompt},   {"max_tokens", 10},      {"temperature", 0},
               {"ignore_eos", true}, {"return_tokens", true}, {"cache_prompt", false}};
  if (!memory.empty()) body["memory"] = memory;
  const auto answer = served.client().post("/completion", body);
  EXPECT_EQ(answer.status, 200) << answer.body;
  return answer.json()["tokens"];
}

ApiAnswer remember(const ServedLm& served, const std::string& name, const std::string& text) {
  return served.client().post("/v1/memories", {{"name", name}, {"text", text}});
}

TEST(Memories, ContinuingFromOneIsContinuingItsText) {
  ServedLm served;
  const auto made = remember(served, "book", kBook);
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.json()["tokens"], kBook.size());
  EXPECT_GT(made.json()["bytes"], 0);
  EXPECT_EQ(tokens_after(served, kQuestion, "book"), tokens_after(served, kBook + kQuestion));
  EXPECT_EQ(tokens_after(served, kQuestion, "book"), tokens_after(served, kBook + kQuestion))
      << "a second time";
  EXPECT_EQ(tokens_after(served, "", "book"), tokens_after(served, kBook)) << "nothing has to be asked";
  const auto usage =
      served.client()
          .post("/v1/completions", {{"prompt", kQuestion}, {"memory", "book"}, {"max_tokens", 1}})
          .json()["usage"];
  EXPECT_EQ(usage["prompt_tokens"], kBook.size() + kQuestion.size());
  EXPECT_EQ(usage["prompt_tokens_details"]["cached_tokens"], kBook.size());
}

TEST(Memories, DocumentsAreReadWithABorderBetweenThem) {
  ServedLm served;
  served.client().post("/v1/memories", {{"name", "two"}, {"documents", {"first", "second"}}});
  remember(served, "one", "first");
  served.client().post("/v1/memories",
                       {{"name", "one"}, {"memory", "one"}, {"text", "second"}, {"replace", true}});
  const std::string border(1, '\0');  // of bytes
  EXPECT_EQ(tokens_after(served, "x", "two"), tokens_after(served, "x", "one"));
  const json tokens =
      served.client().post("/tokenize", {{"content", "first" + border + "secondx"}}).json()["tokens"];
  const json cold = {{"prompt", tokens},
                     {"max_tokens", 10},
                     {"temperature", 0},
                     {"ignore_eos", true},
                     {"return_tokens", true}};
  EXPECT_EQ(served.client().post("/completion", cold).json()["tokens"], tokens_after(served, "x", "two"));
}

TEST(Memories, AForkAFileAndAnotherServerRememberTheSame) {
  const TinyLmFolder folder;
  std::string file;
  json cold;
  {
    ServedLm served({}, folder.path());
    remember(served, "book", kBook);
    cold = tokens_after(served, kBook + kQuestion);
    EXPECT_EQ(served.client().post("/v1/memories/book/fork", {{"to", "copy"}}).status, 201);
    EXPECT_EQ(served.client().remove("/v1/memories/book").status, 200);
    EXPECT_EQ(served.client().get("/v1/memories/book").status, 404);
    EXPECT_EQ(tokens_after(served, kQuestion, "copy"), cold);
    file = served.client().get("/v1/memories/copy/file").body;
  }
  ServedLm other({}, folder.path());
  EXPECT_EQ(other.client().ask("PUT", "/v1/memories/back/file", file, "application/octet-stream").status,
            201);
  EXPECT_EQ(tokens_after(other, kQuestion, "back"), cold);
  // The file is one that the other verbs read, too.
  testing::write_file(folder / "book.mem", file);
  Session session(other.lm(), folder / "book.mem");
  EXPECT_EQ(session.position(), int64_t(kBook.size()));
}

TEST(Memories, RollingBackIsAsIfTheLastTokensWereNeverRead) {
  ServedLm served;
  remember(served, "book", kBook);
  const auto rolled = served.client().post("/v1/memories/book/rollback", {{"tokens", 5}});
  EXPECT_EQ(rolled.status, 200) << rolled.body;
  EXPECT_EQ(rolled.json()["tokens"], kBook.size() - 5);
  EXPECT_EQ(tokens_after(served, kQuestion, "book"),
            tokens_after(served, kBook.substr(0, kBook.size() - 5) + kQuestion));
  const auto refused = served.client().post("/v1/memories/book/rollback", {{"tokens", 40}});
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.sentence(), HasSubstr("can forget"));
  EXPECT_EQ(served.client().post("/v1/memories/book/rollback", {{"tokens", 0}}).status, 400);
  EXPECT_EQ(served.client().post("/v1/memories/book/rollback", json::object()).status, 400);
}

TEST(Memories, ATextGoesOnWhereItsMemoryWasSaved) {
  ServedLm served;
  const auto write = [&](json body) {
    body.update({{"temperature", 0}, {"ignore_eos", true}, {"return_tokens", true}});
    return served.client().post("/completion", body).json()["tokens"];
  };
  const json whole = write({{"prompt", kBook}, {"max_tokens", 20}});
  json parts = write({{"prompt", kBook}, {"max_tokens", 8}, {"save_memory", "tale"}});
  for (const auto& token : write({{"prompt", ""}, {"memory", "tale"}, {"max_tokens", 12}}))
    parts.push_back(token);
  EXPECT_EQ(parts, whole);
  EXPECT_EQ(served.client().get("/v1/memories/tale").json()["tokens"], kBook.size() + 8);
}

TEST(Memories, AreListedStreamedAndRefused) {
  ServedLm served;
  const auto client = served.client();
  EXPECT_TRUE(client.get("/v1/memories").json()["data"].empty());
  const auto streamed = client.ask("POST", "/v1/memories?name=notes&stream=true", kBook, "text/plain");
  EXPECT_TRUE(streamed.done());
  EXPECT_EQ(streamed.events().front()["progress"]["total"], kBook.size());
  EXPECT_EQ(streamed.events().back()["name"], "notes");
  EXPECT_EQ(client.get("/v1/memories").json()["data"][0]["name"], "notes");
  EXPECT_EQ(remember(served, "notes", "again").status, 409);
  for (const char* name : {"", ".", "..", "../x", "a/b", ".hidden", "sp ace", "n\xc3\xa4me"}) {
    EXPECT_EQ(remember(served, name, "text").status, 400) << name;
  }
  EXPECT_EQ(remember(served, std::string(65, 'x'), "text").status, 400);
  EXPECT_EQ(client.post("/v1/memories", {{"name", "empty"}}).status, 400);
  EXPECT_EQ(client.post("/v1/memories", {{"name", "x"}, {"text", "a"}, {"memory", "none"}}).status, 404);
  EXPECT_EQ(client.get("/v1/memories/..%2f..%2fetc").status, 404);
  EXPECT_EQ(client.post("/v1/memories/notes/fork", {{"to", "notes"}}).status, 409);
}

TEST(Memories, AFileThatIsNoMemoryIsRefused) {
  ServedLm served;
  remember(served, "book", kBook);
  const std::string good = served.client().get("/v1/memories/book/file").body;
  const auto upload = [&](const std::string& bytes) {
    return served.client().ask("POST", "/v1/memories/bad/file", bytes, "application/octet-stream");
  };
  for (const std::string& bytes : {std::string(), std::string("nonsense"), good.substr(0, good.size() / 2),
                                   std::string(100, '\xff'), good + "more"}) {
    const auto answer = upload(bytes);
    EXPECT_EQ(answer.status, 400) << answer.body;
    EXPECT_THAT(answer.sentence(), ::testing::Not(HasSubstr("/tmp"))) << "says nothing of our files";
  }
  const std::string other = testing::ServedLm().client().get("/v1/memories").body;
  std::string damaged = good;
  damaged[damaged.find("\"model\"") + 12] ^= 1;
  EXPECT_EQ(upload(damaged).status, 400);
  EXPECT_EQ(upload(good).status, 201);
}

TEST(Memories, AFolderKeepsThemForTheNextStart) {
  const TinyLmFolder folder;
  json cold;
  {
    ServedLm served({.memory_folder = folder / "memories"}, folder.path());
    remember(served, "book", kBook);
    cold = tokens_after(served, kBook + kQuestion);
  }
  testing::write_file(folder / "memories/broken.mem", "nothing");
  ServedLm again({.memory_ram_mib = 0, .memory_folder = folder / "memories"}, folder.path());
  const auto list = again.client().get("/v1/memories").json()["data"];
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0]["name"], "book");
  EXPECT_EQ(list[0]["tokens"], kBook.size());
  EXPECT_EQ(tokens_after(again, kQuestion, "book"), cold);
  again.client().remove("/v1/memories/book");
  EXPECT_FALSE(std::filesystem::exists(folder / "memories/book.mem"));
}

TEST(Memories, TheirRoomIsLimited) {
  ServedLm served({.memory_ram_mib = 0});
  const auto refused = remember(served, "book", kBook);
  EXPECT_EQ(refused.status, 507);
  EXPECT_THAT(refused.sentence(), HasSubstr("are left"));
}

TEST(Memories, ASlotIsSavedRestoredAndErased) {
  const TinyLmFolder folder;
  std::filesystem::create_directories(folder / "slots");
  const ServingOptions options = {.slots = 2, .slot_save_path = folder / "slots"};
  // The prompt ends in the chunk that is under way when the text ends: what follows can be taken back.
  const json ask = {
      {"prompt", kBook}, {"max_tokens", 4}, {"temperature", 0}, {"ignore_eos", true}, {"id_slot", 1}};
  json cold;
  {
    ServedLm served(options, folder.path());
    EXPECT_EQ(served.client().post("/slots/1?action=save", {{"filename", "s.bin"}}).status, 400)
        << "is empty";
    cold = served.client().post("/completion", ask).json();
    const auto saved = served.client().post("/slots/1?action=save", {{"filename", "s.bin"}}).json();
    EXPECT_EQ(saved["n_saved"], kBook.size() + 4);
    EXPECT_EQ(saved["n_written"], std::filesystem::file_size(folder / "slots/s.bin"));
  }
  ServedLm other(options, folder.path());
  const auto client = other.client();
  const auto restored = client.post("/slots/1?action=restore", {{"filename", "s.bin"}}).json();
  EXPECT_EQ(restored["n_restored"], kBook.size() + 4);
  const auto warm = client.post("/completion", ask).json();
  EXPECT_EQ(warm["content"], cold["content"]);
  EXPECT_EQ(cold["timings"]["cache_n"], 0);
  EXPECT_EQ(warm["timings"]["cache_n"], kBook.size()) << "the file saved that work";
  EXPECT_GT(client.post("/slots/1?action=erase", json::object()).json()["n_erased"], 0);
  for (const char* name : {"../s.bin", "/etc/passwd", "", "..", "a/b"}) {
    EXPECT_EQ(client.post("/slots/0?action=restore", {{"filename", name}}).status, 400) << name;
  }
  EXPECT_EQ(client.post("/slots/0?action=restore", {{"filename", "none"}}).status, 404);
  EXPECT_EQ(client.post("/slots/2?action=erase", json::object()).status, 400);
  EXPECT_EQ(client.post("/slots/x?action=erase", json::object()).status, 400);
  EXPECT_EQ(client.post("/slots/0?action=dance", json::object()).status, 400);
}

}  // namespace
}  // namespace lact::tasks::lm
