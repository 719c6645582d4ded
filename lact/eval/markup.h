// Text inside HTML and SVG.
#pragma once

#include <string>

namespace lact::eval {

/// Text as it may stand between tags or in an attribute: no tag of its own, no control character, valid
/// UTF-8.
std::string escaped_markup(const std::string& text);

}  // namespace lact::eval
