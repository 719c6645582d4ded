#include "lact/tasks/nvs/serving/viewer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <regex>

#include "support/places.h"
#include "support/temporary_folder.h"

namespace lact::tasks::nvs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kWeb = testing::source_folder() + "/web/";

TEST(ViewerPage, TheProgramHoldsTheCommittedPage) {
  EXPECT_EQ(viewer_page(), testing::read_file(kWeb + "dist/viewer.html"));
}

TEST(ViewerPage, LoadsNothing) {
  std::string page(viewer_page());
  const std::string svg_name = "http://www.w3.org/2000/svg";
  page.erase(page.find(svg_name), svg_name.size());
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
  EXPECT_THAT(page, Not(::testing::ContainsRegex("(src|@import|import)[=( ]")));
}

TEST(ViewerPage, TheListOfPackagesNamesNoHost) {
  EXPECT_THAT(testing::read_file(kWeb + "package-lock.json"), Not(HasSubstr("://registry")));
  EXPECT_THAT(testing::read_file(kWeb + "package-lock.json"), Not(HasSubstr("\"resolved\"")));
}

TEST(ViewerPage, NpmBuildsTheCommittedPages) {
  if (std::system("command -v npm >/dev/null 2>&1") != 0) GTEST_SKIP() << "npm is not installed";
  const testing::TemporaryFolder folder;
  for (const char* name :
       {".npmrc", "package.json", "package-lock.json", "tsconfig.json", "build.mjs", "src"}) {
    std::filesystem::copy(kWeb + name, folder / name, std::filesystem::copy_options::recursive);
  }
  const auto run = [&](const std::string& command) {
    return std::system(("cd '" + folder / "." + "' && " + command + " >log 2>&1").c_str());
  };
  if (run("npm ci --ignore-scripts --prefer-offline --fetch-retries=0") != 0) {
    const std::string log = testing::read_file(folder / "log");
    const std::regex unreachable(
        "ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH");
    if (std::regex_search(log, unreachable)) GTEST_SKIP() << "npm cannot fetch packages here";
    FAIL() << log;
  }
  ASSERT_EQ(run("npm run build"), 0) << testing::read_file(folder / "log");
  for (const std::string page : {"dist/viewer.html", "dist/chat.html", "dist/report.html"}) {
    EXPECT_EQ(testing::read_file(folder / page), testing::read_file(kWeb + page))
        << "web/" << page << " is not what web/src makes: run npm ci && npm run build in web/";
  }
}

}  // namespace
}  // namespace lact::tasks::nvs
