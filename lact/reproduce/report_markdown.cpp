#include "lact/reproduce/report_markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "lact/base/format.h"
#include "lact/reproduce/report_parts.h"

namespace lact::reproduce {

namespace {

std::string bold_verdict(Verdict verdict) { return fmt::format("**{}**", options::word_of(verdict)); }

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const auto& cell : cells) row += " " + escaped_markdown(cell) + " |";
  return row + "\n";
}

std::string markdown_list(const std::vector<std::string>& items) {
  std::string text;
  for (const auto& item : items) text += "- " + escaped_markdown(item) + "\n";
  return text + "\n";
}

std::string markdown_table(const Table& table) {
  if (table.header.empty()) return "";
  std::string text;
  if (!table.title.empty()) text += fmt::format("**{}**\n\n", escaped_markdown(table.title));
  text += markdown_row(table.header) + "|";
  for (size_t i = 0; i < table.header.size(); ++i) text += holds_quantities(table, i) ? "---:|" : "---|";
  text += "\n";
  for (const auto& row : table.rows) text += markdown_row(row);
  return text + "\n";
}

/// A fence longer than any run of backticks inside.
std::string markdown_commands(const Section& section) {
  size_t run = 0, longest = 2;
  std::string lines;
  for (const auto& command : section.commands) lines += as_one_line(command) + "\n";
  for (const char c : lines) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  return fmt::format("<details><summary>{} command{}</summary>\n\n{}sh\n{}{}\n\n</details>\n\n",
                     section.commands.size(), section.commands.size() == 1 ? "" : "s", fence, lines, fence);
}

std::string markdown_finding(const Finding& finding) {
  std::string text =
      fmt::format("- {}: {}\n", bold_verdict(finding.verdict), escaped_markdown(finding.statement));
  if (!finding.rule.empty()) text += fmt::format("  - rule: {}\n", escaped_markdown(finding.rule));
  if (!finding.because.empty()) text += fmt::format("  - numbers: {}\n", escaped_markdown(finding.because));
  return text;
}

std::string markdown_section(const Section& section) {
  std::string text =
      fmt::format("<a id=\"{}\"></a>\n\n## {}\n\n", section.id, escaped_markdown(section.title));
  if (!section.claim.empty()) text += fmt::format("> {}\n\n", escaped_markdown(section.claim));
  for (const auto& finding : section.findings) text += markdown_finding(finding);
  if (!section.findings.empty()) text += "\n";
  if (!section.paper.empty()) text += "In the paper:\n\n" + markdown_list(section.paper);
  for (size_t i = 0; i < section.charts.size(); ++i) {
    text += fmt::format("![{}]({})\n\n", escaped_markdown(section.charts[i].title), figure_file(section, i));
  }
  for (const auto& table : section.tables) text += markdown_table(table);
  for (const auto& picture : section.pictures) {
    const std::string caption = escaped_markdown(picture.caption);
    text += fmt::format("![{0}]({1})\n\n{0}\n\n", caption, picture.file);
  }
  if (!section.notes.empty()) text += "Notes:\n\n" + markdown_list(section.notes);
  if (section.seconds > 0) text += fmt::format("Time: {} of one core.\n\n", format_duration(section.seconds));
  if (!section.commands.empty()) text += markdown_commands(section);
  return text;
}

}  // namespace

std::string escaped_markdown(std::string_view text) {
  const std::string line = as_one_line(text);
  const auto in_word = [&](size_t i) {
    return i < line.size() && std::isalnum(static_cast<unsigned char>(line[i])) != 0;
  };
  std::string escaped;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '<' || c == '>' || c == '&') {
      escaped += c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&amp;";
      continue;
    }
    const bool begins_block = i == 0 && std::string_view("#-+=").find(c) != std::string_view::npos;
    const bool inside = std::string_view("\\`*[]|~$").find(c) != std::string_view::npos;
    // Inside a word, as in lm_tiny, it is an ordinary character.
    const bool underscore = c == '_' && !(i > 0 && in_word(i - 1) && in_word(i + 1));
    if (begins_block || inside || underscore) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string report_markdown(const Report& report) {
  std::string text =
      fmt::format("# {}\n\n{}\n\n", escaped_markdown(report.title), escaped_markdown(circumstances(report)));
  if (report.sections.empty()) return text;
  text += fmt::format("{}.\n\n| figure or table | claim | verdict |\n|---|---|---|\n", tally(report));
  for (const auto& section : report.sections) {
    text += fmt::format("| [{}](#{}) | {} | {} |\n", escaped_markdown(section.title), section.id,
                        escaped_markdown(section.claim), bold_verdict(section.verdict()));
  }
  text += "\n";
  for (const auto& section : report.sections) text += markdown_section(section);
  return text;
}

}  // namespace lact::reproduce
