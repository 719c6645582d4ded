#include "lact/data/shared_lru.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace lact::data {
namespace {

struct Weighty {
  int key;
  size_t bytes() const { return 10; }
};

using Cache = SharedLru<int, Weighty>;

std::shared_ptr<const Weighty> get(Cache& cache, int key, int& made) {
  return cache.get(key, [&] {
    ++made;
    return std::make_shared<const Weighty>(Weighty{key});
  });
}

TEST(SharedLru, KeepsWhatWasUsedLast) {
  Cache cache(30);
  int made = 0;
  for (const int key : {1, 2, 3, 1}) EXPECT_EQ(get(cache, key, made)->key, key);
  EXPECT_EQ(made, 3);
  get(cache, 4, made);  // 2 goes, which was used before 3 and 1
  EXPECT_EQ(cache.bytes(), 30u);
  for (const int key : {1, 3, 4}) get(cache, key, made);
  EXPECT_EQ(made, 4);
  get(cache, 2, made);
  EXPECT_EQ(made, 5);
}

TEST(SharedLru, OneThatIsTooLargeIsKeptAloneAndWhatIsInUseLivesOn) {
  Cache cache(0);
  int made = 0;
  const auto first = get(cache, 1, made);
  EXPECT_EQ(get(cache, 1, made), first);
  get(cache, 2, made);
  EXPECT_EQ(cache.bytes(), 10u);
  EXPECT_EQ(first->key, 1);
  EXPECT_EQ(made, 2);
}

TEST(SharedLru, ThreadsShareIt) {
  Cache cache(50);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&cache, t] {
      int made = 0;
      for (int i = 0; i < 1000; ++i) EXPECT_EQ(get(cache, (i * (t + 1)) % 11, made)->key, (i * (t + 1)) % 11);
    });
  for (auto& thread : threads) thread.join();
  EXPECT_LE(cache.bytes(), 50u);
}

}  // namespace
}  // namespace lact::data
