#include "lact/cli/help_text.h"

#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "lact/base/terminal.h"

namespace lact::cli {

std::string wrapped(const std::string& text, size_t columns) {
  std::string result;
  size_t used = 0;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (used > 0) {
      const bool fits = used + 1 + word.size() <= columns;
      result += fits ? ' ' : '\n';
      used = fits ? used + 1 : 0;
    }
    result += word;
    used += word.size();
  }
  return result;
}

size_t HelpFormatter::description_columns() const {
  constexpr size_t kFewest = 24;
  const auto columns = static_cast<size_t>(std::max(1, terminal_columns(STDOUT_FILENO)));
  return std::max(kFewest, columns - std::min(columns, get_column_width()));
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  return wrapped(option->get_description(), description_columns());
}

std::string HelpFormatter::make_subcommand(const CLI::App* verb) const {
  std::ostringstream out;
  CLI::detail::format_help(out, verb->get_display_name(true),
                           wrapped(verb->get_description(), description_columns()), get_column_width());
  return out.str();
}

}  // namespace lact::cli
