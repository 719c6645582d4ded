// The report as a page: the sources are web/src/report/, built by npm into web/dist/report.html, which the
// program holds as bytes.
#pragma once

#include <string>
#include <string_view>

#include "lact/reproduce/section.h"

namespace lact::reproduce {

/// The page without a report.
std::string_view empty_report_page();

/// The page with the report inside of it; pictures are read from below `folder` and become part of the page.
std::string report_page(const Report& report, const std::string& folder);

}  // namespace lact::reproduce
