#include "lact/reproduce/live_table.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "lact/base/format.h"
#include "lact/base/log.h"
#include "lact/base/progress.h"
#include "lact/base/terminal.h"

namespace lact::reproduce {

namespace {

constexpr size_t kBar = 10;

std::string done_bar(int64_t done, int64_t total) {
  const size_t filled = total == 0 ? kBar : size_t(done) * kBar / size_t(total);
  return "[" + std::string(filled, '=') + std::string(kBar - filled, ' ') + "]";
}

/// As many rows as find room, interesting ones first, in the order they have.
std::vector<TableRow> shortened(const std::vector<TableRow>& rows, size_t room) {
  std::vector<TableRow> result;
  const auto interesting =
      size_t(std::count_if(rows.begin(), rows.end(), [](const TableRow& row) { return row.interesting; }));
  size_t others = room > interesting ? room - interesting : 0;
  if (rows.size() <= room) others = rows.size();
  for (const auto& row : rows) {
    if (result.size() == room) break;
    if (!row.interesting && others == 0) continue;
    if (!row.interesting) --others;
    result.push_back(row);
  }
  return result;
}

}  // namespace

LiveTable::LiveTable(LiveTableOptions options) : options_(std::move(options)) {
  if (!options_.terminal) options_.terminal = options_.out == &std::cerr && can_rewrite_lines(STDERR_FILENO);
}

void LiveTable::message(const std::string& text) {
  if (log::quiet()) return;
  clear();
  *options_.out << text << '\n';
  draw();
  options_.out->flush();
}

void LiveTable::show(const std::string& heading, const std::vector<TableRow>& rows) {
  heading_ = heading;
  rows_ = rows;
  if (!on_terminal() || log::quiet()) return;
  clear();
  draw();
  options_.out->flush();
}

void LiveTable::clear() {
  // Up to its first line, and all below it is gone.
  if (shown_ > 0) *options_.out << fmt::format("\x1b[{}A\r\x1b[J", shown_);
  shown_ = 0;
}

void LiveTable::draw() {
  if (!on_terminal() || heading_.empty()) return;
  const int columns = options_.columns > 0 ? options_.columns : terminal_columns(STDERR_FILENO);
  const int rows = options_.rows > 0 ? options_.rows : terminal_rows(STDERR_FILENO);
  // A line that is as wide as the terminal, or a table as high, would move what stands above it.
  const size_t width = size_t(std::max(columns - 1, 1)), room = size_t(std::max(rows - 2, 1));
  size_t name = 0;
  for (const auto& row : rows_) name = std::max(name, row.id.size());
  const auto line = [&](const std::string& text) {
    *options_.out << truncate_characters(as_one_line(text), width) << '\n';
    ++shown_;
  };
  line(heading_);
  for (const auto& row : shortened(rows_, room)) {
    const std::string left = row.left.empty() ? "" : "  " + row.left;
    const std::string doing = row.doing.empty() ? "" : "  " + row.doing;
    *options_.out << truncate_characters(
                         fmt::format("{:<{}} {} {:>3}/{}{}{}", row.id, name, done_bar(row.done, row.total),
                                     row.done, row.total, left, doing),
                         width)
                  << '\n';
    ++shown_;
  }
}

}  // namespace lact::reproduce
