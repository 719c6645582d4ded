#include "lact/io/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "lact/base/error.h"
#include "support/temporary_folder.h"

namespace lact::io {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::read_file;
using testing::TemporaryFolder;
using testing::write_file;

void write_text(const std::string& path, const std::string& text) {
  write_file_atomically(path, [&](FileWriter& writer) { writer.write(text); });
}

std::string refusal(const std::string& path) {
  return testing::sentence_of<Error>([&] { write_text(path, "new"); });
}

TEST(AtomicFile, WritesTheBytesInOrder) {
  TemporaryFolder folder;
  write_file_atomically(folder / "a", [](FileWriter& writer) {
    writer.write("one ");
    writer.write("two\0three", 9);
    writer.write("");
  });
  EXPECT_EQ(read_file(folder / "a"), std::string("one two\0three", 13));
}

TEST(AtomicFile, ReplacesAnOlderFileAndLeavesNothingElse) {
  TemporaryFolder folder;
  write_text(folder / "a", "a long old text");
  write_text(folder / "a", "new");
  EXPECT_EQ(read_file(folder / "a"), "new");
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(AtomicFile, TheOldFileStaysUntilTheNewOneIsComplete) {
  TemporaryFolder folder;
  write_text(folder / "a", "old");
  write_file_atomically(folder / "a", [&](FileWriter& writer) {
    writer.write("new");
    EXPECT_EQ(read_file(folder / "a"), "old");
  });
}

TEST(AtomicFile, AnExceptionOfTheCallerKeepsTheOldFileAndRemovesTheHalfWrittenOne) {
  TemporaryFolder folder;
  write_text(folder / "a", "old");
  EXPECT_THROW(write_file_atomically(folder / "a",
                                     [](FileWriter& writer) {
                                       writer.write("half");
                                       throw std::range_error("stop");
                                     }),
               std::range_error);
  EXPECT_EQ(read_file(folder / "a"), "old");
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(AtomicFile, AFullDiskIsReportedAndLeavesNoFile) {
  TemporaryFolder folder;
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {1000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string sentence =
      testing::sentence_of<Error>([&] { write_text(folder / "a", std::string(5000, 'x')); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(sentence, HasSubstr((folder / "a") + ": cannot be written: "));
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(AtomicFile, AMissingFolderIsNamed) {
  TemporaryFolder folder;
  EXPECT_THAT(refusal(folder / "no/such/file"),
              HasSubstr("the folder " + (folder / "no/such") + " does not exist"));
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(AtomicFile, CanBeAskedBeforeTheWork) {
  TemporaryFolder folder;
  write_file(folder / "a", "old");
  check_can_write(folder / "a");
  check_can_write(folder / "b");
  EXPECT_EQ(read_file(folder / "a"), "old");
  EXPECT_THAT(folder.names(), ElementsAre("a"));
  EXPECT_THAT(testing::sentence_of<Error>([&] { check_can_write(folder / "no/file"); }),
              HasSubstr("does not exist"));
}

TEST(AtomicFile, AnotherProgramMayWriteIt) {
  TemporaryFolder folder;
  {
    AtomicFile file(folder / "a");
    write_file(file.temporary_name(), "written elsewhere");
    EXPECT_FALSE(std::filesystem::exists(folder / "a"));
    file.commit();
    EXPECT_EQ(read_file(folder / "a"), "written elsewhere");
  }
  { const AtomicFile dropped(folder / "b"); }
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(AtomicFile, AFileInPlaceOfTheFolderIsNamed) {
  TemporaryFolder folder;
  write_file(folder / "a", "a file");
  EXPECT_THAT(refusal(folder / "a/b"), HasSubstr((folder / "a") + " is not a folder"));
  EXPECT_EQ(read_file(folder / "a"), "a file");
}

TEST(AtomicFile, AFolderIsNotReplaced) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder / "a");
  EXPECT_THAT(refusal(folder / "a"), HasSubstr("it is a folder"));
  EXPECT_TRUE(std::filesystem::is_directory(folder / "a"));
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(AtomicFile, APipeIsNotReplaced) {
  TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "a").c_str(), 0600), 0);
  EXPECT_THAT(refusal(folder / "a"), HasSubstr("not a regular file"));
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "a"));
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(AtomicFile, AReadOnlyFolderIsReported) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write into every folder";
  TemporaryFolder folder;
  std::filesystem::create_directory(folder / "locked");
  chmod((folder / "locked").c_str(), 0500);
  EXPECT_THAT(refusal(folder / "locked/a"), HasSubstr("cannot be written: "));
}

TEST(AtomicFile, NamesThatNoFileSystemTakesAreReported) {
  TemporaryFolder folder;
  EXPECT_THAT(refusal(folder / std::string(300, 'n')), HasSubstr("cannot be written: "));
  EXPECT_THAT(refusal(""), HasSubstr("empty"));
}

TEST(AtomicFile, ASymbolicLinkIsFollowed) {
  TemporaryFolder folder;
  write_file(folder / "target", "old");
  std::filesystem::create_symlink("target", folder / "link");
  write_text(folder / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "target"), "new");
}

TEST(AtomicFile, PermissionsAreThoseOfAnOrdinaryNewFile) {
  TemporaryFolder folder;
  const mode_t mask = umask(022);
  write_text(folder / "a", "text");
  umask(mask);
  struct stat status;
  ASSERT_EQ(stat((folder / "a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644u);
}

TEST(AtomicFile, WritersAtTheSameTimeLeaveOneWholeFile) {
  TemporaryFolder folder;
  std::vector<std::thread> threads;
  for (char letter : {'a', 'b', 'c', 'd'}) {
    threads.emplace_back([&, letter] {
      for (int i = 0; i < 4; ++i) write_text(folder / "file", std::string(50'000, letter));
    });
  }
  for (auto& thread : threads) thread.join();
  const std::string text = read_file(folder / "file");
  ASSERT_EQ(text.size(), 50'000u);
  EXPECT_EQ(text, std::string(50'000, text[0]));
  EXPECT_THAT(folder.names(), ElementsAre("file"));
}

}  // namespace
}  // namespace lact::io
