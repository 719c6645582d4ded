#include "lact/tasks/nvs/serving/viewer_page.h"

namespace lact::tasks::nvs {

namespace {

constexpr unsigned char kViewerPage[] = {
#include "lact/tasks/nvs/serving/viewer_page.inc"
};

}  // namespace

std::string_view viewer_page() { return {reinterpret_cast<const char*>(kViewerPage), sizeof(kViewerPage)}; }

}  // namespace lact::tasks::nvs
