#include "lact/models/lm/token_history.h"

#include <gtest/gtest.h>

namespace lact::models {
namespace {

TokenHistory history(const std::vector<int64_t>& tokens, size_t chunk) {
  TokenHistory history;
  for (const int64_t token : tokens) {
    history.add({&token, 1});
    if (history.tail.size() == chunk) history.close_chunk();
  }
  return history;
}

TEST(TokenHistory, EqualTextsHaveEqualNames) {
  const std::vector<int64_t> text = {5, 6, 7, 8, 9};
  TokenHistory whole;
  whole.add({text.data(), 4});
  whole.close_chunk();
  whole.add({text.data() + 4, 1});
  EXPECT_EQ(history(text, 4).id(), whole.id());
  EXPECT_EQ(history(text, 4).before, extended_digest("", {text.data(), 4}));
}

TEST(TokenHistory, OtherTextsHaveOtherNames) {
  EXPECT_NE(history({1, 2, 3}, 4).id(), history({1, 2, 4}, 4).id());
  EXPECT_NE(history({1, 2, 3}, 4).id(), history({1, 2}, 4).id());
  EXPECT_NE(history({1, 2, 3, 4, 5}, 4).id(), history({1, 2, 3, 5, 5}, 4).id());
  EXPECT_NE(history({}, 4).id(), history({0}, 4).id());
  EXPECT_NE(unknown_history(7, "a").id(), unknown_history(7, "b").id());
}

TEST(TokenHistory, ForgottenTokensLeaveNoTrace) {
  TokenHistory longer = history({1, 2, 3, 4, 5, 6, 7}, 4);
  longer.forget_last(2);
  EXPECT_EQ(longer.id(), history({1, 2, 3, 4, 5}, 4).id());
  longer.forget_last(1);
  EXPECT_EQ(longer.id(), history({1, 2, 3, 4}, 4).id());
}

}  // namespace
}  // namespace lact::models
