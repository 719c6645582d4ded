// Programs that tests of pages need, where they are installed.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <string>

namespace lact::testing {

/// The first of the names that is a program here, or "".
inline std::string program_among(std::initializer_list<const char*> names) {
  for (const std::string name : names) {
    if (std::system(("command -v " + name + " >/dev/null 2>&1").c_str()) == 0) return name;
  }
  return "";
}

inline std::string node_program() { return program_among({"node", "nodejs"}); }
inline std::string browser_program() {
  return program_among({"chromium", "chromium-browser", "google-chrome"});
}

/// Where screenshots go: LACT_SCREENSHOTS keeps them to be looked at.
inline std::string screenshots_folder(const std::string& otherwise) {
  const char* chosen = std::getenv("LACT_SCREENSHOTS");
  return chosen != nullptr ? chosen : otherwise;
}

}  // namespace lact::testing

/// Skips the test, saying so, where there is no Node or no Chromium.
#define LACT_NEEDS_BROWSER()                                         \
  if (::lact::testing::node_program().empty())                       \
    GTEST_SKIP() << "Node (Debian package nodejs) is not installed"; \
  if (::lact::testing::browser_program().empty())                    \
  GTEST_SKIP() << "Chromium (Debian package chromium) is not installed"
