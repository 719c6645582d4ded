// Words of a command that speak of folders of steps: "@out" and "@ID".
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lact/reproduce/step.h"

namespace lact::reproduce {

/// What "@out" names; no step is called so.
inline constexpr const char* kOwnFolder = "out";

/// Letters, digits, '_', '-' and '.'.
bool is_id_letter(char letter);

/// Replaces every "@ID" by what `place` says. An id reaches as far as its letters do, or to one of its dots
/// where only that much is known: "@out.png" is a file beside the folder. Throws for an id that `is_step`
/// does not know; "@" before anything else stands for itself.
Words with_places(const Words& words, const std::function<bool(const std::string& id)>& is_step,
                  const std::function<std::string(const std::string& id)>& place);

/// The steps that are named, each once, without "out".
std::vector<std::string> named_steps(const Words& words,
                                     const std::function<bool(const std::string& id)>& is_step);

/// As a person types them into a shell.
std::string shell_line(const Words& words);

}  // namespace lact::reproduce
