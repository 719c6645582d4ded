// The last line of defence of a program: whatever was thrown, a person reads one sentence.
//
//   } catch (const std::exception& error) {
//     lact::log::error("{}", lact::one_sentence(error));
//     if (debug) std::fputs(error.what(), stderr);  // LibTorch's trace and all
//     return lact::is_callers_mistake(error) ? 2 : 1;
//   }
#pragma once

#include <exception>
#include <string>

namespace lact {

/// lact::Error as it stands. Memory that could not be had says how much it was. An error of the filesystem
/// names the path and the reason. Of all others the first line: LibTorch's messages go on with a trace.
std::string one_sentence(const std::exception& error);

/// Whether the caller can mend it (exit code 2): lact::Error, files, memory. All else is a fault of ours.
bool is_callers_mistake(const std::exception& error);

}  // namespace lact
