#include "lact/data/text/ruler.h"

#include <algorithm>

#include "lact/base/error.h"
#include "lact/base/random.h"

namespace lact::data::ruler {

namespace {

/// RULER's steps; a short haystack is lowered by a quarter at most, not thrown away whole.
int64_t lowering_step(const Task& task, int64_t length, int64_t haystack) {
  const int64_t step = task.haystack == Haystack::essay ? 500 : length < 4096 ? 5 : 25;
  return std::clamp<int64_t>(haystack / 4, 1, step);
}

void check_length(int64_t length, int64_t reserved) {
  LACT_CHECK(reserved >= 0, "{} tokens are reserved for the answer, expected at least 0", reserved);
  LACT_CHECK(length > 0, "the length is {} tokens, expected a positive number", length);
}

[[noreturn]] void too_short(const Task& task, int64_t length, int64_t prompt, int64_t reserved) {
  fail(
      "a length of {} tokens is too short for {}: its shortest prompt takes {} and {} are reserved for the "
      "answer, so at least {} are needed",
      length, task.name, prompt, reserved, prompt + reserved);
}

}  // namespace

int64_t smallest_haystack(const Task& task) {
  return task.haystack == Haystack::essay ? 0 : std::max(task.keys, task.queries) * task.values;
}

int64_t fit_haystack(const Task& task, const Material& material, int64_t length,
                     const CountTokens& count_tokens, uint64_t seed, int64_t reserved) {
  check_length(length, reserved);
  const auto tokens = [&](int64_t size) {
    return count_tokens(make_example(task, material, size, seed).prompt);
  };
  int64_t fits = smallest_haystack(task);
  if (const int64_t least = tokens(fits); least + reserved > length) {
    too_short(task, length, least, reserved);
  }
  // Doubling finds a size that is too large without making a text much longer than the length. Several words
  // may share a token; the limit ends the search for a counter that does not count.
  const int64_t limit = fits + 8 * length;
  int64_t excess = fits + 16;
  while (excess < limit && tokens(excess) + reserved <= length) {
    fits = excess;
    excess = std::min(2 * excess, limit);
  }
  while (fits + 1 < excess) {
    const int64_t middle = fits + (excess - fits) / 2;
    (tokens(middle) + reserved <= length ? fits : excess) = middle;
  }
  return fits;
}

std::vector<Example> make_examples(const Task& task, const Material& material, int64_t length, int64_t count,
                                   uint64_t seed, const CountTokens& count_tokens, int64_t reserved) {
  LACT_CHECK(count >= 0, "{} examples are asked for, expected at least 0", count);
  std::vector<Example> examples;
  if (count == 0) return examples;
  const int64_t haystack = fit_haystack(task, material, length, count_tokens, mix(seed, 0), reserved);
  const int64_t step = lowering_step(task, length, haystack);
  const int64_t smallest = smallest_haystack(task);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t size = haystack;; size = std::max(size - step, smallest)) {
      Example example = make_example(task, material, size, mix(seed, static_cast<uint64_t>(i)));
      const int64_t tokens = count_tokens(example.prompt);
      if (tokens + reserved <= length) {
        examples.push_back(std::move(example));
        break;
      }
      if (size == smallest) too_short(task, length, tokens, reserved);
    }
  }
  return examples;
}

}  // namespace lact::data::ruler
