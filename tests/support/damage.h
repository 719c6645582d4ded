// What a reader makes of damaged files: values or one sentence, nothing else.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "lact/base/error.h"
#include "lact/base/random.h"
#include "support/limited_memory.h"

namespace lact::testing {

/// `good` with a few bytes changed, set to extremes, cut out or repeated, or with its end missing.
inline std::string damaged(const std::string& good, uint64_t seed) {
  Random random(seed);
  std::string bytes = good;
  for (int64_t change = 1 + random.below(3); change > 0 && !bytes.empty(); --change) {
    const auto place = size_t(random.below(int64_t(bytes.size())));
    const size_t length = std::min(bytes.size() - place, size_t(1 + random.below(9)));
    switch (random.below(7)) {
      case 0:
        bytes[place] = char(bytes[place] ^ (1 << random.below(8)));
        break;
      case 1:
        bytes[place] = char(random.below(256));
        break;
      case 2:
        bytes.replace(place, length, length, '\xff');
        break;
      case 3:
        bytes.replace(place, length, length, '\0');
        break;
      case 4:
        bytes.erase(place, length);
        break;
      case 5:
        bytes.insert(place, bytes.substr(place, length));
        break;
      default:
        bytes.resize(place);
    }
  }
  return bytes;
}

/// Gives `read` many damaged versions of `good`, in bounded memory. Each gives values or throws lact::Error
/// with a sentence of one line; the same versions every time.
template <class Read>
void expect_values_or_sentences(const std::string& good, int cases, const Read& read) {
  ASSERT_NO_THROW(read(good));
  const LimitedMemory limited(uint64_t(2) << 30);
  int sentences = 0;
  for (int i = 0; i < cases; ++i) {
    try {
      read(damaged(good, uint64_t(i)));
    } catch (const Error& error) {
      ++sentences;
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos)
          << "case " << i << ": " << error.what();
    } catch (const std::exception& error) {
      ADD_FAILURE() << "case " << i << " throws " << typeid(error).name() << ": " << error.what();
    }
  }
  EXPECT_GT(sentences, cases / 20) << "hardly any damage is noticed";
}

}  // namespace lact::testing
