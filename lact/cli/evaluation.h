// What the verbs that measure models have in common: several models under names, and a result as a table for
// people, JSON for programs, and plots.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lact/base/options.h"
#include "lact/eval/plot.h"

namespace lact::cli {

struct NamedFolder {
  std::string name, folder;
};

/// From words like NAME=FOLDER, or a folder that is its own name. Throws where two have one name.
std::vector<NamedFolder> named_folders(const std::vector<std::string>& arguments);

struct Evaluation {
  std::string table;
  options::Json json;
  std::map<std::string, eval::Plot> plots;  ///< by the ending of the file's name
};

/// The first column to the left, the others to the right.
std::string text_table(const std::vector<std::string>& header,
                       const std::vector<std::vector<std::string>>& rows);

/// Makes the folder if it is missing.
void create_output_folder(const std::string& folder);

/// `stem`.json, and the plots as SVG.
void write_evaluation(const Evaluation& evaluation, const std::string& folder, const std::string& stem);

/// The table and the plots in characters, or the JSON, on stdout.
void print_evaluation(const Evaluation& evaluation, bool json);

}  // namespace lact::cli
