#include "lact/ops/attention/kept_tokens.h"

#include <ATen/ATen.h>

#include "lact/base/options.h"
#include "lact/base/threads.h"
#include "lact/ops/attention/windows.h"
#include "lact/ops/dispatch/paths.h"
#include "support/errors.h"
#include "support/gradients.h"
#include "support/instruction_sets.h"

namespace lact::ops {
namespace {

using lact::testing::difference;
using lact::testing::for_each_isa;

constexpr CacheFormat kCacheFormats[] = {CacheFormat::f32, CacheFormat::bf16, CacheFormat::int8};

TEST(KeptTokens, BytesAreWithinHalfAStepOfTheirRow) {
  at::manual_seed(2);
  for_each_isa([](const std::string& isa) {
    for (const int64_t width : {1, 5, 16, 33, 64}) {
      at::Tensor x = at::randn({2, 3, 4, width}) * 10;
      x[0][1][2].zero_();
      const KeptTokens kept = keep(x, CacheFormat::int8);
      EXPECT_EQ(kept.numbers.scalar_type(), at::kChar);
      EXPECT_EQ(kept.scales.sizes().vec(), (std::vector<int64_t>{2, 3, 4}));
      const at::Tensor found = widened(kept, at::kFloat);
      EXPECT_TRUE(((found - x).abs() <= 0.5001 * kept.scales.unsqueeze(3)).all().item<bool>()) << isa;
      EXPECT_LT((found.abs().amax(3) - x.abs().amax(3)).abs().max().item<double>(), 1e-5) << isa;
      // What is read back is kept as it was.
      const KeptTokens again = keep(found, CacheFormat::int8);
      EXPECT_TRUE(again.numbers.equal(kept.numbers)) << isa;
    }
  });
}

TEST(KeptTokens, OtherFormatsAreOrdinaryTypes) {
  const at::Tensor x = at::randn({1, 3, 2, 4});
  EXPECT_TRUE(keep(x, CacheFormat::automatic).numbers.is_same(x));
  EXPECT_TRUE(keep(x, CacheFormat::bf16).numbers.equal(x.to(at::kBFloat16)));
  EXPECT_TRUE(keep(x.to(at::kBFloat16), CacheFormat::f32).numbers.equal(x.to(at::kBFloat16).to(at::kFloat)));
  EXPECT_FALSE(keep(x, CacheFormat::bf16).scales.defined());
}

/// The same numbers in float64, the way the reference reads them.
at::Tensor kept_truth(const at::Tensor& q, const KeptTokens& k, const KeptTokens& v, const Window& window,
                      int64_t first_query) {
  return reference::window_attention(q.to(at::kDouble), widened(k, at::kFloat).to(at::kDouble),
                                     widened(v, at::kFloat).to(at::kDouble), window, first_query, 0);
}

struct KeptSizes {
  int64_t batch, queries, keys, heads, width, value_width;
};

TEST(KeptTokens, AFewQueriesReadThemWhereTheyLie) {
  at::manual_seed(3);
  const KeptSizes all[] = {{1, 1, 1, 1, 1, 1},     {1, 1, 64, 2, 64, 64},   {2, 3, 77, 3, 20, 36},
                           {1, 4, 513, 5, 33, 17}, {1, 1, 1300, 3, 64, 64}, {3, 2, 1025, 1, 128, 96}};
  for_each_isa([&](const std::string& isa) {
    for (const KeptSizes& s : all) {
      const int64_t first = s.keys - s.queries;
      // A window over all keys, and one that only sees some of them.
      for (const int64_t band : {s.keys, std::max<int64_t>(1, s.keys / 2)}) {
        const Window window = sliding_window({first, s.keys}, band);
        for (const auto type : {at::kFloat, at::kBFloat16}) {
          const at::Tensor q = at::randn({s.batch, s.queries, s.heads, s.width}).to(type) * 2;
          for (const auto format : kCacheFormats) {
            const KeptTokens k = keep(at::randn({s.batch, s.keys, s.heads, s.width}), format);
            const KeptTokens v = keep(at::randn({s.batch, s.keys, s.heads, s.value_width}), format);
            at::NoGradGuard no_grad;
            const at::Tensor out = kept_attention(q, k, v, window, first, 0);
            EXPECT_EQ(out.scalar_type(), type);
            EXPECT_LT(difference(out, kept_truth(q, k, v, window, first)), type == at::kFloat ? 1e-5 : 1e-2)
                << isa << ", " << options::word_of(format) << ", " << s.keys << " keys";
          }
        }
      }
    }
  });
}

TEST(KeptTokens, ManyQueriesAndTheReferenceAgree) {
  at::manual_seed(4);
  at::NoGradGuard no_grad;
  const Window window = sliding_window({30, 90}, 25);
  for (const auto format : kCacheFormats) {
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      const at::Tensor q = at::randn({1, 60, 3, 20}).to(type);
      const KeptTokens k = keep(at::randn({1, 90, 3, 20}), format),
                       v = keep(at::randn({1, 90, 3, 20}), format);
      const at::Tensor expected = kept_truth(q, k, v, window, 30);
      const double bound = type == at::kFloat ? 1e-5 : 3e-2;
      EXPECT_LT(difference(kept_attention(q, k, v, window, 30, 0), expected), bound);
      EXPECT_LT(difference(reference::kept_attention(q, k, v, window, 30, 0), expected), bound);
    }
  }
}

TEST(KeptTokens, TheNumberOfThreadsDoesNotMatter) {
  at::manual_seed(5);
  at::NoGradGuard no_grad;
  const at::Tensor q = at::randn({1, 1, 7, 32});
  const KeptTokens k = keep(at::randn({1, 2000, 7, 32}), CacheFormat::int8);
  const KeptTokens v = keep(at::randn({1, 2000, 7, 32}), CacheFormat::int8);
  const Window window = sliding_window({1999, 2000}, 2000);
  const int before = threads_in_use();
  use_threads(1);
  const at::Tensor alone = kept_attention(q, k, v, window, 1999, 0);
#if !defined(__SANITIZE_THREAD__)
  use_threads(3);
#endif
  EXPECT_TRUE(kept_attention(q, k, v, window, 1999, 0).equal(alone));
  use_threads(before);
}

TEST(KeptTokens, MistakesAreSentences) {
  const at::Tensor x = at::randn({1, 4, 2, 8});
  const Window window = sliding_window({3, 4}, 4);
  const KeptTokens kept = keep(x, CacheFormat::int8);
  const at::Tensor q = at::randn({1, 1, 2, 8});
  EXPECT_SENTENCE(kept_attention(q, {kept.numbers, {}}, kept, window, 3, 0), "for int8 alone");
  EXPECT_SENTENCE(kept_attention(q, kept, {kept.numbers, at::ones({1, 4})}, window, 3, 0), "for int8 alone");
  EXPECT_SENTENCE(kept_attention(at::randn({1, 1, 3, 8}), kept, kept, window, 3, 0),
                  "q has 3 heads but k has 2");
  at::Tensor learned = at::randn({1, 4, 2, 8});
  learned.requires_grad_();
  EXPECT_SENTENCE(keep(learned, CacheFormat::int8), "have no gradients");
}

}  // namespace
}  // namespace lact::ops
