// The report as files: one page for a browser, the same as Markdown with pictures, and its numbers.
#pragma once

#include <string>

#include "lact/reproduce/section.h"

namespace lact::reproduce {

void write_report(const Report& report,
                  const std::string& folder);  // report.json, report.html, report.md, figures/*.svg, pictures
Report read_report(const std::string& path);   // report.json; broken ones are a sentence

}  // namespace lact::reproduce
