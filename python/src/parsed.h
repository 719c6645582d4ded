// Options that cross the border as JSON.
#pragma once

#include <string_view>

#include "lact/base/json_text.h"
#include "lact/base/options.h"

namespace lact::python {

/// Errors begin with the name of the argument.
template <class T>
T parsed(std::string_view json, const char* name) {
  T value;
  options::read(parse_json(json, name), value, name);
  return value;
}

}  // namespace lact::python
