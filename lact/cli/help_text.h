// Help pages that fit the terminal.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace lact::cli {

/// `text` with line breaks between words so that no line is wider than `columns`, unless a word is.
std::string wrapped(const std::string& text, size_t columns);

/// Descriptions are broken to the width of the terminal, and indented below each other.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_subcommand(const CLI::App* verb) const override;

 private:
  size_t description_columns() const;
};

}  // namespace lact::cli
