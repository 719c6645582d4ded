// The report of a suite as files: report.json, which holds all of it, and from it a page (report.html, which
// loads nothing) and a text (report.md with figures/).
#pragma once

#include <string>

#include "lact/reproduce/section.h"

namespace lact::reproduce {

/// Writes report.json, report.html, report.md, figures/<section>_<n>.svg and pictures/, each whole or not at
/// all. Pictures are copied to pictures/<section>_<n>; one that cannot be read becomes a note of its section.
/// Throws a sentence naming the field where a section does not fit together (check_section).
void write_report(const Report& report, const std::string& folder);

/// A report of its JSON: what is broken or missing is a sentence that names the field. Values that are null
/// are NaN.
Report parse_report(options::Json json);

/// Reads a report.json: what is broken or missing is a sentence that names file and field. Pictures get the
/// place that they have beside the file.
Report read_report(const std::string& path);

}  // namespace lact::reproduce
