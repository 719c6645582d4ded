// What the paper prints in its tables of RULER: averages of three tasks in per cent, at 4, 8, 16 and 32
// thousand tokens.
#pragma once

#include <string>
#include <vector>

namespace lact::reproduce::ruler {

std::vector<std::string> paper_single_needles();
std::vector<std::string> paper_several_needles();

}  // namespace lact::reproduce::ruler
