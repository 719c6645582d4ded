// Text inside HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace lact::eval {

/// Text as it may stand between tags or in an attribute: no tag of its own, no control character, valid
/// UTF-8.
std::string escaped_markup(const std::string& text);

/// Bytes in letters and digits, as addresses that begin with "data:" hold them.
std::string base64(std::string_view bytes);

}  // namespace lact::eval
