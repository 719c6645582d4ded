#include "lact/reproduce/live_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace lact::reproduce {
namespace {

using ::testing::ElementsAre;

/// What a terminal shows after all that was written to it: the codes that the table uses, and no others.
std::vector<std::string> screen_after(const std::string& text) {
  std::vector<std::string> lines = {""};
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      lines.emplace_back();
    } else if (text.compare(i, 2, "\x1b[") == 0) {
      size_t end = i + 2;
      while (std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
      if (text[end] == 'A') {
        lines.resize(lines.size() - std::stoul(text.substr(i + 2)));  // all below is cleared next
        lines.back().clear();
      } else {
        EXPECT_EQ(text[end], 'J');
      }
      i = end;
    } else if (text[i] != '\r') {
      lines.back() += text[i];
    }
  }
  return lines;
}

class LiveTableOnScreen : public ::testing::Test {
 protected:
  LiveTable table(bool terminal, int rows = 24, int columns = 60) {
    return LiveTable({.terminal = terminal, .out = &out_, .columns = columns, .rows = rows});
  }
  std::ostringstream out_;
  std::vector<TableRow> rows_ = {
      {.id = "fig1", .done = 2, .total = 2, .doing = "done", .left = "", .interesting = false},
      {.id = "tab10", .done = 1, .total = 4, .doing = "LaCT (3 s)", .left = "9 s left", .interesting = true}};
};

TEST_F(LiveTableOnScreen, IsWrittenInItsPlaceBelowMessages) {
  LiveTable live = table(true);
  live.show("0 of 6 done", rows_);
  live.message("starts: LaCT");
  live.show("3 of 6 done", rows_);
  EXPECT_THAT(screen_after(out_.str()),
              ElementsAre("starts: LaCT", "3 of 6 done", "fig1  [==========]   2/2  done",
                          "tab10 [==        ]   1/4  9 s left  LaCT (3 s)", ""));
}

TEST_F(LiveTableOnScreen, NoLineIsWiderThanTheTerminal) {
  LiveTable live = table(true, 24, 30);
  rows_[1].doing = std::string(200, 'x');
  live.show(std::string(100, 'y'), rows_);
  for (const auto& line : screen_after(out_.str())) EXPECT_LT(line.size(), 30U);
}

TEST_F(LiveTableOnScreen, WhatRunsIsShownWhereThereIsLittleRoom) {
  LiveTable live = table(true, 3);
  live.show("heading", rows_);
  EXPECT_THAT(screen_after(out_.str()),
              ElementsAre("heading", "tab10 [==        ]   1/4  9 s left  LaCT (3 s)", ""));
}

TEST_F(LiveTableOnScreen, AFileGetsMessagesAlone) {
  LiveTable live = table(false);
  live.show("heading", rows_);
  live.message("starts: LaCT");
  live.show("heading", rows_);
  EXPECT_EQ(out_.str(), "starts: LaCT\n");
}

}  // namespace
}  // namespace lact::reproduce
