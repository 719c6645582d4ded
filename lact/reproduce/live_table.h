// What runs, what is done and how long it will take, on stderr: a table that is written anew in its place on
// a terminal, and nothing but the messages elsewhere. Nothing at all is shown under --quiet.
#pragma once

#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace lact::reproduce {

struct TableRow {
  std::string id;
  int64_t done = 0, total = 0;
  std::string doing, left;  ///< for people; "" where there is nothing to say
  bool interesting = true;  ///< where not all rows find room, those that are not are left out first
};

struct LiveTableOptions {
  std::optional<bool> terminal;    // whether `out` is one; asked of the system where absent
  std::ostream* out = &std::cerr;  // must outlive the table
  int columns = 0, rows = 0;       // 0 asks the terminal at each redraw
};

/// For one thread.
class LiveTable {
 public:
  explicit LiveTable(LiveTableOptions options = {});
  /// Leaves the last table where it is.
  ~LiveTable() = default;

  bool on_terminal() const { return *options_.terminal; }

  /// A line of its own, above the table.
  void message(const std::string& text);

  /// On a terminal, in the place of the table before.
  void show(const std::string& heading, const std::vector<TableRow>& rows);

 private:
  void clear();
  void draw();

  LiveTableOptions options_;
  std::string heading_;
  std::vector<TableRow> rows_;
  size_t shown_ = 0;  // lines that are on the terminal
};

}  // namespace lact::reproduce
