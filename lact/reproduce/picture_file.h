// Pictures as bytes: they are shown as they are, and never decoded here.
#pragma once

#include <string>
#include <string_view>

namespace lact::reproduce {

/// "image/png" or "image/jpeg" by the first bytes, "" for everything else.
std::string_view picture_type(std::string_view bytes);

/// The bytes of a PNG or JPEG file of at most 64 MB; anything else is a sentence that names the file.
std::string read_picture(const std::string& path);

}  // namespace lact::reproduce
