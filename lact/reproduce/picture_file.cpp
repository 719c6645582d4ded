#include "lact/reproduce/picture_file.h"

#include "lact/base/error.h"
#include "lact/io/regular_file.h"

namespace lact::reproduce {

namespace {

constexpr uint64_t kMostPictureBytes = uint64_t{64} << 20;

}  // namespace

std::string_view picture_type(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return "image/png";
  return bytes.starts_with("\xff\xd8\xff") ? "image/jpeg" : "";
}

std::string read_picture(const std::string& path) {
  std::string bytes = io::read_whole_file(path, kMostPictureBytes);
  LACT_CHECK(!picture_type(bytes).empty(), "{}: is neither a PNG nor a JPEG picture", path);
  return bytes;
}

}  // namespace lact::reproduce
