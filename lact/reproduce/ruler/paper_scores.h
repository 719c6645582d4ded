// What the paper prints in its tables of RULER, in per cent.
#pragma once

#include <string>
#include <vector>

#include "lact/reproduce/section.h"

namespace lact::reproduce::ruler {

enum class Needles { single, several };

/// The whole table.
Table paper_table(Needles needles);

/// The averages of the 3B models, a sentence each.
std::vector<std::string> paper_averages(Needles needles);

}  // namespace lact::reproduce::ruler
