// Options that name what is written. The place is checked while the command line is read, so that hours of
// work never end at a folder that does not exist.
#pragma once

#include <CLI/CLI.hpp>

namespace lact::cli {

/// A file in a folder that exists.
CLI::Validator output_file();

/// A file whose folder is made if it is missing.
CLI::Validator output_file_in_new_folder();

/// A folder that exists or can be made.
CLI::Validator output_folder();

/// A folder, or a file whose name ends in .ply.
CLI::Validator output_folder_or_ply();

/// Where frames go: a folder, a picture or a video, by the name.
CLI::Validator output_frames();

}  // namespace lact::cli
