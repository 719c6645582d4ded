// A mistake gives one sentence that says what was found.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lact/base/error.h"

/// The statement throws lact::Error whose sentence contains `text`.
#define EXPECT_SENTENCE(statement, text)                                                  \
  do {                                                                                    \
    try {                                                                                 \
      statement;                                                                          \
      ADD_FAILURE() << "no error: " #statement;                                           \
    } catch (const ::lact::Error& error) {                                                \
      EXPECT_THAT(std::string(error.what()), ::testing::HasSubstr(text));                 \
      EXPECT_THAT(std::string(error.what()), ::testing::Not(::testing::HasSubstr("\n"))); \
    }                                                                                     \
  } while (false)
