#include "lact/base/format.h"

#include <gtest/gtest.h>

#include <limits>

namespace lact {
namespace {

TEST(Format, Durations) {
  EXPECT_EQ(format_duration(0), "0 s");
  EXPECT_EQ(format_duration(0.35), "350 ms");
  EXPECT_EQ(format_duration(0.9999), "1 s");
  EXPECT_EQ(format_duration(12.4), "12 s");
  EXPECT_EQ(format_duration(59.7), "1 min 00 s");
  EXPECT_EQ(format_duration(200), "3 min 20 s");
  EXPECT_EQ(format_duration(3599.6), "1 h 00 min");
  EXPECT_EQ(format_duration(3900), "1 h 05 min");
  EXPECT_EQ(format_duration(2 * 86400 + 3 * 3600 + 59), "2 d 03 h");
  EXPECT_EQ(format_duration(-1), "?");
  EXPECT_EQ(format_duration(std::numeric_limits<double>::quiet_NaN()), "?");
  EXPECT_EQ(format_duration(std::numeric_limits<double>::infinity()), "?");
}

TEST(Format, Bytes) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(999.6), "1.0 kB");
  EXPECT_EQ(format_bytes(1.2e9), "1.2 GB");
  EXPECT_EQ(format_bytes(999.96e6), "1.0 GB");
  EXPECT_EQ(format_bytes(5e18), "5000.0 PB");
  EXPECT_EQ(format_bytes(std::numeric_limits<double>::infinity()), "?");
}

TEST(Format, Counts) {
  EXPECT_EQ(format_count(950), "950");
  EXPECT_EQ(format_count(12'300), "12.3 k");
  EXPECT_EQ(format_count(12.3e6), "12.3 M");
  EXPECT_EQ(format_count(999'949), "999.9 k");
  EXPECT_EQ(format_count(999'951), "1.0 M");
  EXPECT_EQ(format_count(1.3e9), "1.3 B");
  EXPECT_EQ(format_count(2e12), "2.0 T");
  EXPECT_EQ(format_count(-12'300), "-12.3 k");
}

TEST(Format, WhatOtherProgramsSayBecomesOneLine) {
  EXPECT_EQ(as_one_line("  a\t\tb\r\n\x1b c \n"), "a b c");
  EXPECT_EQ(as_one_line(" \n"), "");
  EXPECT_EQ(last_line("first\nthe  last \n\n", 100), "the last");
  EXPECT_EQ(last_line("10%\r20%", 100), "20%");
  EXPECT_EQ(last_line("only", 2), "on");
  EXPECT_EQ(last_line("\n \n", 100), "");
}

}  // namespace
}  // namespace lact
