// How far a long piece of work is, on stderr. A terminal shows one line that is redrawn:
//
//   train [=========>          ] 450/1000  loss 2.31  3 min 20 s left
//
// and a file or pipe gets a plain line now and then. Nothing is shown under --quiet.
#pragma once

#include <cstdint>
#include <functional>
#include <iostream>
#include <optional>
#include <string>

#include "lact/base/format.h"

namespace lact {

/// The first `width` characters of UTF-8 text.
std::string truncate_characters(const std::string& text, size_t width);

struct ProgressOptions {
  std::optional<bool> terminal;     // whether `out` is one; asked of the system where absent
  double plain_interval = 10;       // seconds between plain lines
  int64_t done_at_start = 0;        // work of an earlier run: it took no time of this one
  std::ostream* out = &std::cerr;   // must outlive the progress
  int width = 0;                    // columns; 0 asks the terminal at each redraw
  std::function<double()> seconds;  // a clock that never goes back; the system's where absent
};

/// For one thread.
class Progress {
 public:
  using Options = ProgressOptions;

  /// `total` 0: not known, no bar and no time left.
  Progress(std::string title, int64_t total, Options options = {});
  /// Without finish(), leaves what is on the terminal and goes to the next line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `done` of the total, work of earlier runs included. Cheap: mostly only remembers. More than the total
  /// shows that the total was wrong: from then on it counts as not known.
  void update(int64_t done, const std::string& details);

  /// A line of its own, above the bar.
  void message(const std::string& text);

  /// The last line, instead of the bar.
  void finish(const std::string& summary);

 private:
  void draw();
  std::string terminal_line() const;
  std::string plain_line() const;
  std::string time_left() const;
  size_t width() const;

  std::string title_, details_;
  int64_t total_, done_;
  Options options_;
  bool shown_ = false;  // a bar is on the terminal's last line
  bool finished_ = false;
  double last_update_, last_line_;
  double recent_work_ = 0, recent_seconds_ = 0;  // of which the past is forgotten bit by bit
};

}  // namespace lact
