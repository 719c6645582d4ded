#include "lact/eval/html_report.h"

#include <fmt/format.h>

#include <cstdlib>

#include "lact/base/error.h"
#include "lact/eval/markup.h"
#include "lact/io/atomic_file.h"
#include "lact/io/jpeg.h"

namespace lact::eval {

namespace {

constexpr int kPictureQuality = 92;

// Charts are drawn for white paper, so they keep a white card in the dark scheme, too.
constexpr const char* kStyle = R"(
:root { color-scheme: light dark;
  --text: #1f2328; --soft: #59636e; --back: #ffffff; --panel: #f6f8fa; --line: #d1d9e0; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --soft: #9198a1; --back: #0d1117; --panel: #161b22; --line: #3d444d; }
}
body { max-width: 60rem; margin: 2.5rem auto; padding: 0 1.25rem; color: var(--text); background: var(--back);
  font: 1rem/1.6 system-ui, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.25; }
h2 { margin-top: 2.5rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line); font-size: 1.35rem; }
.scroll { overflow-x: auto; margin: 1.25rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .9rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { background: var(--panel); font-weight: 600; }
.number { text-align: right; white-space: nowrap; }
figure { margin: 1.5rem 0; }
figure svg { display: block; max-width: 100%; height: auto; border: 1px solid var(--line); border-radius: 8px;
  background: #ffffff; }
figure img { display: block; max-width: 100%; height: auto; background: #ffffff; }
figcaption { margin-top: .5rem; color: var(--soft); font-size: .9rem; }
pre { overflow-x: auto; padding: 1rem; border: 1px solid var(--line); border-radius: 8px;
  background: var(--panel); font: .875rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
)";

/// "12", "-0.5", "1e-3", also with a per cent sign or digits grouped by blanks or commas.
bool is_number(std::string cell) {
  std::erase_if(cell, [](char c) { return c == ' ' || c == ',' || c == '%'; });
  if (cell.find_first_of("0123456789") == std::string::npos) return false;
  char* end = nullptr;
  std::strtod(cell.c_str(), &end);
  return *end == '\0';
}

bool is_number_column(const std::vector<std::vector<std::string>>& rows, size_t column) {
  for (const auto& row : rows) {
    if (is_number(row[column])) return true;
  }
  return false;
}

}  // namespace

void HtmlReport::heading(const std::string& text) {
  body_ += fmt::format("<h2>{}</h2>\n", escaped_markup(text));
}

void HtmlReport::paragraph(const std::string& text) {
  body_ += fmt::format("<p>{}</p>\n", escaped_markup(text));
}

void HtmlReport::table(const std::vector<std::string>& header,
                       const std::vector<std::vector<std::string>>& rows) {
  LACT_CHECK(!header.empty(), "a table has no columns, expected at least one");
  for (size_t i = 0; i < rows.size(); ++i) {
    LACT_CHECK(rows[i].size() == header.size(),
               "row {} of a table has {} cells, expected {} as in its header", i + 1, rows[i].size(),
               header.size());
  }
  const auto cell = [](const char* tag, bool number, const char* more, const std::string& text) {
    return fmt::format("<{0}{1}{2}>{3}</{0}>", tag, more, number ? " class=\"number\"" : "",
                       escaped_markup(text));
  };
  body_ += "<div class=\"scroll\"><table>\n<thead><tr>";
  for (size_t i = 0; i < header.size(); ++i) {
    body_ += cell("th", is_number_column(rows, i), " scope=\"col\"", header[i]);
  }
  body_ += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows) {
    body_ += "<tr>";
    for (const auto& text : row) body_ += cell("td", is_number(text), "", text);
    body_ += "</tr>\n";
  }
  body_ += "</tbody>\n</table></div>\n";
}

void HtmlReport::figure(const Plot& plot, const std::string& caption) { add_figure(svg(plot), caption); }

void HtmlReport::picture(const at::Tensor& image, const std::string& caption) {
  add_figure(fmt::format("<img alt=\"{}\" src=\"data:image/jpeg;base64,{}\"/>\n", escaped_markup(caption),
                         base64(io::encode_jpeg(image, kPictureQuality))),
             caption);
}

void HtmlReport::add_figure(const std::string& markup, const std::string& caption) {
  body_ += fmt::format("<figure>\n{}", markup);
  if (!caption.empty()) body_ += fmt::format("<figcaption>{}</figcaption>\n", escaped_markup(caption));
  body_ += "</figure>\n";
}

void HtmlReport::code(const std::string& text) {
  // The code element keeps a first newline, which browsers drop directly after <pre>.
  body_ += fmt::format("<pre><code>{}</code></pre>\n", escaped_markup(text));
}

std::string HtmlReport::html() const {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n{2}</body>\n</html>\n",
      escaped_markup(title), kStyle, body_);
}

void HtmlReport::write(const std::string& path) const {
  const std::string page = html();
  io::write_file_atomically(path, [&](io::FileWriter& writer) { writer.write(page); });
}

}  // namespace lact::eval
