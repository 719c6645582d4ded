// The report as Markdown, with the figures that lie beside it.
#pragma once

#include <string>
#include <string_view>

#include "lact/reproduce/section.h"

namespace lact::reproduce {

/// Text on one line that Markdown shows as it is.
std::string escaped_markdown(std::string_view text);

/// Pictures are named as the report names them: below its own folder.
std::string report_markdown(const Report& report);

}  // namespace lact::reproduce
