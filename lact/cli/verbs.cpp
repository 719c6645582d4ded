#include "lact/cli/verbs.h"

#include <CLI/CLI.hpp>

#include <iostream>

#include "lact/base/error.h"

namespace lact::cli {

void show_help_when_alone(CLI::App& group) {
  group.callback([&group] {
    if (group.get_subcommands().empty()) std::cout << group.help(group.get_parent()->get_name());
  });
}

void check_option_groups(const CLI::App& verb, const std::string& word) {
  // Groups that belong to one choice among several; all others always count.
  static const std::vector<std::string> choices = {"Text files", "loss",        "recall",       "ruler",
                                                   "tales",      "--turntable", "--interpolate"};
  for (const auto* option : verb.get_options()) {
    const std::string& group = option->get_group();
    const bool depends = std::any_of(choices.begin(), choices.end(), [&](const std::string& choice) {
      return group.find(choice) != std::string::npos;
    });
    LACT_CHECK(option->count() == 0 || !depends || group.find(word) != std::string::npos,
               "[options] {} is for {} and means nothing for {}", option->get_name(), group, word);
  }
}

}  // namespace lact::cli
