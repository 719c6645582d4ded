// YAML files as JSON values, for the configs that other projects publish. Read through yaml-cpp: theirs nest
// lists of maps, which a reader of `key: value` lines does not cover, and people write lists both ways.
#pragma once

#include <string>

#include "lact/base/options.h"

namespace lact::io {

/// One document of maps, lists and scalars; a plain scalar is null, true, false or a number if it looks like
/// one. No aliases. Throws a sentence with the file and the line.
options::Json read_yaml_file(const std::string& path);

}  // namespace lact::io
