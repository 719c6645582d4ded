// Results go to stdout. If they do not arrive there, the program must not say that all is well.
#pragma once

#include <functional>

namespace lact::cli {

/// Runs the program and returns its exit code, or 1 and a sentence if results could not be written: a full
/// disk, a closed stdout. Work ends at the first result that is lost. A reader that has gone (`| head -1`)
/// ends the program without a word.
int with_checked_output(const std::function<int()>& program);

}  // namespace lact::cli
