#include "lact/base/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <vector>

#include "lact/base/log.h"

namespace lact {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// What a user would see, with a clock that the test moves.
class ProgressTest : public ::testing::Test {
 protected:
  Progress::Options options(bool terminal, int width = 80) {
    Progress::Options result;
    result.terminal = terminal;
    result.out = &out_;
    result.width = width;
    result.seconds = [this] { return now_; };
    return result;
  }

  std::vector<std::string> lines() const { return split(out_.str(), '\n'); }

  /// Each redraw of the bar, without the codes around it.
  std::vector<std::string> redraws() const {
    std::vector<std::string> result;
    for (const auto& piece : split(out_.str(), '\r')) {
      if (const size_t end = piece.find("\x1b[K"); end != std::string::npos && end > 0) {
        result.push_back(piece.substr(0, end));
      }
    }
    return result;
  }

  static std::vector<std::string> split(const std::string& text, char separator) {
    std::istringstream stream(text);
    std::vector<std::string> pieces;
    for (std::string piece; std::getline(stream, piece, separator);) pieces.push_back(piece);
    return pieces;
  }

  std::ostringstream out_;
  double now_ = 1000;
};

TEST_F(ProgressTest, PlainLinesComeAtTheirInterval) {
  Progress progress("train", 100, options(false));
  for (int64_t step = 1; step <= 100; ++step) {
    now_ += 1;
    progress.update(step, "loss 2.5");
  }
  progress.finish("done in 100 s");
  const auto seen = lines();
  ASSERT_THAT(seen, SizeIs(11));
  EXPECT_EQ(seen[0], "train: 10/100 (10 %), loss 2.5, 1 min 30 s left");
  EXPECT_EQ(seen[9], "train: 100/100 (100 %), loss 2.5, 0 s left");
  EXPECT_EQ(seen[10], "train: done in 100 s");
  EXPECT_THAT(out_.str(), Not(HasSubstr("\r")));
  EXPECT_THAT(out_.str(), Not(HasSubstr("\x1b")));
}

TEST_F(ProgressTest, ShortWorkSaysOnlyItsEnd) {
  Progress progress("load", 3, options(false));
  progress.update(1, "");
  progress.finish("3 files");
  progress.finish("twice");
  progress.update(3, "");
  EXPECT_THAT(lines(), ElementsAre("load: 3 files"));
}

TEST_F(ProgressTest, TerminalRedrawsTenTimesASecond) {
  Progress progress("train", 1000, options(true));
  for (int64_t step = 1; step <= 1000; ++step) {
    now_ += 0.001;
    progress.update(step, "");
  }
  EXPECT_GE(redraws().size(), 9u);
  EXPECT_LE(redraws().size(), 11u);
}

TEST_F(ProgressTest, TerminalLineHasBarCountsDetailsAndTimeLeft) {
  Progress progress("train", 200, options(true));
  now_ += 10;
  progress.update(100, "loss 2.31");
  EXPECT_THAT(redraws(), ElementsAre("train [==============>             ] 100/200  loss 2.31  10 s left"));
  now_ += 10;
  progress.update(200, "loss 2.30");
  EXPECT_EQ(redraws().back(), "train [============================] 200/200  loss 2.30  0 s left");
  progress.finish("ready");
  EXPECT_THAT(out_.str(), EndsWith("\r\x1b[Ktrain: ready\n"));
}

TEST_F(ProgressTest, NarrowTerminalCutsTheDetailsAndKeepsTheTimeLeft) {
  for (int width = 1; width < 90; ++width) {
    out_.str("");
    Progress progress("train", 200, options(true, width));
    now_ += 10;
    progress.update(100, "Verlust \u00FC\u00FC\u00FC 2.31 und noch viel mehr Text");
    ASSERT_THAT(redraws(), SizeIs(1));
    const std::string line = redraws()[0];
    EXPECT_LE(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }), width)
        << line;
    if (width > 25) {
      EXPECT_THAT(line, EndsWith("10 s left"));
    }
  }
}

TEST_F(ProgressTest, TruncationCountsCharactersNotBytes) {
  EXPECT_EQ(truncate_characters("\u00FCber", 2), "\u00FCb");
  EXPECT_EQ(truncate_characters("\u65E5\u672C\u8A9E", 2), "\u65E5\u672C");
  EXPECT_EQ(truncate_characters("abc", 3), "abc");
  EXPECT_EQ(truncate_characters("abc", 0), "");
}

TEST_F(ProgressTest, ResumedWorkDoesNotCountAsFast) {
  auto resumed = options(false);
  resumed.done_at_start = 900;
  Progress progress("train", 1000, resumed);
  now_ += 10;
  progress.update(910, "");
  EXPECT_THAT(lines(), ElementsAre("train: 910/1000 (91 %), 1 min 30 s left"));
}

TEST_F(ProgressTest, TimeLeftFollowsTheRecentRate) {
  Progress progress("train", 100000, options(false));
  int64_t done = 0;
  for (int i = 0; i < 600; ++i) now_ += 1, progress.update(done += 100, "");
  for (int i = 0; i < 600; ++i) now_ += 1, progress.update(done += 10, "");
  // 34000 are left: 56 min at the recent 10 per second, 10 min at the mean of all.
  EXPECT_THAT(lines().back(), HasSubstr("56 min"));
}

TEST_F(ProgressTest, UnknownTotalHasNoBarAndNoEnd) {
  Progress progress("read", 0, options(true));
  now_ += 1;
  progress.update(17, "a.txt");
  EXPECT_THAT(redraws(), ElementsAre("read 17  a.txt"));
}

TEST_F(ProgressTest, MoreThanTheTotalIsNoShare) {
  Progress progress("ingest", 100, options(false));
  for (const int64_t done : {50, 437, 500}) {
    now_ += 20;
    progress.update(done, "");
  }
  EXPECT_THAT(lines()[0], HasSubstr("50/100 (50 %)"));
  EXPECT_THAT(lines()[1], StartsWith("ingest: 437"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("437 %")));
  EXPECT_THAT(lines()[2], Not(HasSubstr("100")));
}

TEST_F(ProgressTest, MessagesStandAboveTheBar) {
  {
    Progress progress("train", 10, options(true));
    progress.message("first");
    progress.update(1, "");
    progress.message("second");
  }
  EXPECT_THAT(out_.str(), StartsWith("first\n\rtrain ["));
  EXPECT_THAT(out_.str(), HasSubstr("\r\x1b[Ksecond\n\rtrain ["));
  EXPECT_THAT(out_.str(), EndsWith("\x1b[K\n"));  // what follows starts on a line of its own
}

TEST_F(ProgressTest, DetailsStayOnOneLine) {
  Progress progress("train", 10, options(true));
  progress.update(1, "a\nb\r\x1b[2Jc");
  EXPECT_THAT(redraws(), SizeIs(1));
  EXPECT_THAT(redraws()[0], HasSubstr("a b  [2Jc"));
}

TEST_F(ProgressTest, QuietShowsNothing) {
  log::set_quiet(true);
  EXPECT_TRUE(log::quiet());
  for (const bool terminal : {true, false}) {
    Progress progress("train", 10, options(terminal));
    now_ += 100;
    progress.update(1, "");
    progress.message("text");
    progress.finish("ready");
  }
  log::set_quiet(false);
  EXPECT_FALSE(log::quiet());
  EXPECT_THAT(out_.str(), IsEmpty());
}

}  // namespace
}  // namespace lact
