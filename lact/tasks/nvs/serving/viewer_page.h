// The page of the viewer: web/dist/viewer.html, as it is in the program.
#pragma once

#include <string_view>

namespace lact::serve {

std::string_view viewer_page();

}  // namespace lact::serve
