// Where things are on this machine. Only tests/main.cpp is compiled with these paths, so that all other tests
// are the same objects in every checkout, and a compiler cache has them.
#pragma once

#include <string>

namespace lact::testing {

std::string source_folder();  ///< of the repository
std::string program_file();   ///< the program `lact`

}  // namespace lact::testing
