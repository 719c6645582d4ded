#include "lact/io/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "support/temporary_folder.h"

namespace lact::io {
namespace {

using Direction = ChildProcess::Direction;

std::string read_all(ChildProcess& process) {
  std::string text(1 << 16, '\0');
  text.resize(process.read(text.data(), text.size()));
  return text;
}

TEST(ChildProcess, WordsArriveAsTheyAre) {
  ChildProcess process(Direction::we_read);
  ASSERT_EQ(process.start({"printf", "%s|", "-n", "$(id) `id`", "two words", "*", "\"'"}), 0);
  EXPECT_EQ(read_all(process), "-n|$(id) `id`|two words|*|\"'|");
  EXPECT_TRUE(process.finish());
  EXPECT_FALSE(process.running());
}

TEST(ChildProcess, RunsInAFolderWithAFileAsItsInput) {
  const lact::testing::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "sub");
  lact::testing::write_file(folder / "input", "some text");
  const int input = open((folder / "input").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(input, 0);
  ChildProcess process(Direction::we_read);
  ASSERT_EQ(process.start({"sh", "-c", "cat; pwd"}, {folder / "sub", input}), 0);
  const std::string found = read_all(process);
  close(input);
  EXPECT_TRUE(process.finish());
  EXPECT_EQ(found, "some text" + (folder / "sub") + "\n");
  EXPECT_NE(ChildProcess(Direction::we_read).start({"true"}, {.folder = folder / "none"}), 0);
}

TEST(ChildProcess, BytesGoThroughInOrder) {
  ChildProcess process(Direction::we_write);
  ASSERT_EQ(process.start({"sh", "-c", "test \"$(cat | cksum)\" = \"$(printf abcdef | cksum)\""}), 0);
  EXPECT_TRUE(process.write("abc", 3));
  EXPECT_TRUE(process.write("def", 3));
  EXPECT_TRUE(process.finish());
}

TEST(ChildProcess, FailureAndComplaintsAreTold) {
  ChildProcess process(Direction::we_read);
  ASSERT_EQ(process.start({"sh", "-c", "echo one  two >&2; echo three >&2; echo >&2; exit 4"}), 0);
  EXPECT_EQ(read_all(process), "");
  EXPECT_FALSE(process.finish());
  EXPECT_EQ(process.first_complaints(), "one two three");
  EXPECT_EQ(process.last_complaint(), "three");
  EXPECT_FALSE(process.finish()) << "it has ended already";
}

TEST(ChildProcess, AReaderThatStopsDoesNotEndUs) {
  ChildProcess process(Direction::we_write);
  ASSERT_EQ(process.start({"true"}), 0);
  const std::string block(1 << 16, 'x');
  bool taken = true;
  for (int i = 0; i < 100 && taken; ++i) taken = process.write(block.data(), block.size());
  EXPECT_FALSE(taken);
  EXPECT_TRUE(process.finish());
}

TEST(ChildProcess, AProgramThatIsNotThereIsAnErrno) {
  EXPECT_EQ(ChildProcess(Direction::we_read).start({"/nowhere/program"}), ENOENT);
  EXPECT_EQ(ChildProcess(Direction::we_read).start({"/"}), EACCES);
}

TEST(ChildProcess, OutputCanBeWaitedFor) {
  using std::chrono::milliseconds;
  ChildProcess silent(Direction::we_read);
  ASSERT_EQ(silent.start({"sleep", "1000"}), 0);
  EXPECT_FALSE(silent.has_output(milliseconds(10)));
  ChildProcess process(Direction::we_read);
  ASSERT_EQ(process.start({"echo", "done"}), 0);
  EXPECT_TRUE(process.has_output(milliseconds(60000)));
  char text[5] = {};
  EXPECT_EQ(process.read(text, 5), 5u);
  EXPECT_TRUE(process.has_output(milliseconds(60000))) << "the end counts too";
  EXPECT_TRUE(process.finish());
}

TEST(ChildProcess, WhatStillRunsIsStopped) {
  std::string number;
  {
    ChildProcess process(Direction::we_read);
    ASSERT_EQ(process.start({"sh", "-c", "echo $$; sleep 100 & wait"}), 0);
    char letter = 0;
    while (process.read(&letter, 1) == 1 && letter != '\n') number += letter;
  }
  EXPECT_NE(std::system(("kill -0 " + number + " 2>/dev/null").c_str()), 0);
}

}  // namespace
}  // namespace lact::io
