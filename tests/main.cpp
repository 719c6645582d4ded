// Runs the tests with one thread each: ctest runs several files at once. Every test draws the same random
// numbers whatever ran before it; LibTorch by itself begins anywhere.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "lact/base/threads.h"
#include "support/places.h"

namespace lact::testing {
std::string source_folder() { return LACT_SOURCE_DIR; }
std::string program_file() { return LACT_PROGRAM; }
}  // namespace lact::testing

namespace {

class Seed : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& /*test*/) override { at::manual_seed(1); }
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new Seed);
  lact::use_threads(1);
  return RUN_ALL_TESTS();
}
