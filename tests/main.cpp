// Runs the tests with one thread each: ctest runs several files at once.
#include <gtest/gtest.h>

#include "lact/base/threads.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  lact::use_threads(1);
  return RUN_ALL_TESTS();
}
