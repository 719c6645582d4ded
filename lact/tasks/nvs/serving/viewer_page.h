// The page of the viewer: web/dist/viewer.html, as it is in the program.
#pragma once

#include <string_view>

namespace lact::tasks::nvs {

std::string_view viewer_page();

}  // namespace lact::tasks::nvs
