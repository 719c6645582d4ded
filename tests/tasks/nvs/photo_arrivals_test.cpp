#include "lact/tasks/nvs/photo_arrivals.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/errors.h"
#include "support/photo_folder.h"

namespace lact::tasks::nvs {
namespace {

namespace fs = std::filesystem;
using lact::testing::read_file;
using lact::testing::TemporaryFolder;
using lact::testing::write_file;
using lact::testing::write_photo_folder;

const auto kNever = [] { return false; };

ArrivalOptions quick(int64_t every) {
  return {.every = every, .wait = std::chrono::milliseconds(30), .look_every = std::chrono::milliseconds(1)};
}

class PhotoArrivalsTest : public ::testing::Test {
 protected:
  PhotoArrivalsTest() { write_photo_folder(folder_ / "photos", 5, 8, 8); }
  std::string photo(int i) const { return folder_ / ("photos/view_" + std::to_string(i) + ".png"); }
  TemporaryFolder folder_;
};

TEST_F(PhotoArrivalsTest, ComeInTheOrderOfTheCameraFile) {
  PhotoArrivals arrivals(folder_ / "photos", {}, quick(2));
  EXPECT_EQ(arrivals.next(kNever), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(arrivals.next(kNever), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(arrivals.next(kNever), (std::vector<int64_t>{4})) << "no other came in time";
  EXPECT_TRUE(arrivals.next(kNever).empty());
  EXPECT_EQ(arrivals.capture().views.size(), 5u);
}

TEST_F(PhotoArrivalsTest, PhotosThatAreNotThereYetAreWaitedFor) {
  for (const int i : {1, 3, 4}) fs::rename(photo(i), folder_ / std::to_string(i));
  PhotoArrivals arrivals(folder_ / "photos", {}, quick(2));
  const auto names = [&](const std::vector<int64_t>& photos) {
    std::vector<std::string> found;
    for (const int64_t i : photos)
      found.push_back(fs::path(arrivals.capture().views[size_t(i)].image).stem());
    return found;
  };
  EXPECT_EQ(names(arrivals.next(kNever)), (std::vector<std::string>{"view_0", "view_2"}));
  fs::rename(folder_ / "3", photo(3));
  fs::rename(folder_ / "1", photo(1));
  EXPECT_EQ(names(arrivals.next(kNever)), (std::vector<std::string>{"view_1", "view_3"}));
  EXPECT_TRUE(arrivals.next(kNever).empty());
}

TEST_F(PhotoArrivalsTest, APhotoThatIsStillGrowingIsNotTaken) {
  const std::string whole = read_file(photo(0));
  for (int i = 1; i < 5; ++i) fs::remove(photo(i));
  ArrivalOptions options = quick(1);
  PhotoArrivals arrivals(folder_ / "photos", {}, options);
  size_t looks = 0;
  // A byte more at every look.
  const auto grows = [&] {
    write_file(photo(0), whole.substr(0, whole.size() - 5 + std::min<size_t>(looks, 5)));
    ++looks;
    return false;
  };
  grows();
  EXPECT_EQ(arrivals.next(grows), (std::vector<int64_t>{0}));
  EXPECT_GE(looks, 6u);
  EXPECT_EQ(read_file(photo(0)), whole);
}

TEST_F(PhotoArrivalsTest, EndWhenTheyAreToldTo) {
  ArrivalOptions options = quick(9);
  options.wait = std::chrono::hours(1);
  PhotoArrivals arrivals(folder_ / "photos", {}, options);
  int asked = 0;
  EXPECT_EQ(arrivals.next([&] { return ++asked > 3; }).size(), 5u) << "what is there is given";
}

TEST_F(PhotoArrivalsTest, WhatNeverComesIsSaid) {
  EXPECT_SENTENCE(PhotoArrivals(folder_ / "nowhere", {}, quick(2)).next(kNever), "no such file or folder");
  write_file(folder_ / "photos/opencv_cameras.json", "[{");
  EXPECT_SENTENCE(PhotoArrivals(folder_ / "photos", {}, quick(2)).next(kNever), "opencv_cameras.json");
}

}  // namespace
}  // namespace lact::tasks::nvs
