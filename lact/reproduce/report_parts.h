// What the page and the text of a report have in common.
#pragma once

#include <string>

#include "lact/eval/plot.h"
#include "lact/reproduce/section.h"

namespace lact::reproduce {

/// "figures/fig1a_1.svg" for the first chart: below the report's folder.
std::string figure_file(const Section& section, size_t chart);

eval::Plot chart_plot(const Chart& chart);

/// Whether the cells of a column are quantities ("12", "1.2 ± 0.1", "3.5 ms", "–" for none), which are
/// aligned to the right.
bool holds_quantities(const Table& table, size_t column);

/// "3 of 5 hold, 1 does not hold, 1 is inconclusive"
std::string tally(const Report& report);

/// "budget 2h · 3 seeds · machine · version · date", without what is not known.
std::string circumstances(const Report& report);

}  // namespace lact::reproduce
