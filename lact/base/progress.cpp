#include "lact/base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "lact/base/log.h"
#include "lact/base/terminal.h"

namespace lact {

namespace {

constexpr double kRedrawInterval = 0.1;
constexpr double kMemory = 60;  // seconds after which work counts 1/e in the rate
constexpr size_t kWidestBar = 30, kNarrowestBar = 8;
constexpr const char* kClearLine = "\r\x1b[K";

double system_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool is_terminal(const std::ostream* out) { return out == &std::cerr && can_rewrite_lines(STDERR_FILENO); }

bool begins_character(char c) { return (c & 0xC0) != 0x80; }

size_t count_characters(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

/// "[=====>    ]", `width` columns with its brackets.
std::string bar(double fraction, size_t width) {
  const size_t inner = width - 2;
  const auto filled = static_cast<size_t>(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(inner));
  std::string cells(filled, '=');
  if (filled < inner) cells += '>';
  cells.resize(inner, ' ');
  return "[" + cells + "]";
}

/// Text from the caller must not break the line that is redrawn.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  return text;
}

}  // namespace

std::string truncate_characters(const std::string& text, size_t width) {
  size_t characters = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (begins_character(text[i]) && ++characters > width) return text.substr(0, i);
  }
  return text;
}

Progress::Progress(std::string title, int64_t total, Options options)
    : title_(one_line(std::move(title))),
      total_(total),
      done_(options.done_at_start),
      options_(std::move(options)) {
  if (!options_.terminal) options_.terminal = is_terminal(options_.out);
  if (!options_.seconds) options_.seconds = system_seconds;
  last_update_ = options_.seconds();
  // A bar appears at once, a plain line only when there is something to tell.
  last_line_ = *options_.terminal ? -std::numeric_limits<double>::infinity() : last_update_;
}

Progress::~Progress() {
  if (shown_) *options_.out << std::endl;
}

void Progress::update(int64_t done, const std::string& details) {
  const double now = options_.seconds();
  const double elapsed = std::max(now - last_update_, 0.0);
  const double kept = std::exp(-elapsed / kMemory);
  recent_work_ = kept * recent_work_ + static_cast<double>(done - done_);
  recent_seconds_ = kept * recent_seconds_ + elapsed;
  last_update_ = now;
  done_ = done;
  if (done_ > total_) total_ = 0;
  details_ = one_line(details);
  if (now - last_line_ < (*options_.terminal ? kRedrawInterval : options_.plain_interval)) return;
  last_line_ = now;
  draw();
}

void Progress::message(const std::string& text) {
  if (log::quiet()) return;
  if (shown_) *options_.out << kClearLine;
  *options_.out << text << '\n';
  if (shown_) draw();
  options_.out->flush();
}

void Progress::finish(const std::string& summary) {
  if (std::exchange(finished_, true) || log::quiet()) return;
  if (std::exchange(shown_, false)) *options_.out << kClearLine;
  *options_.out << title_ << ": " << summary << std::endl;
}

void Progress::draw() {
  if (finished_ || log::quiet()) return;
  if (*options_.terminal) {
    *options_.out << '\r' << terminal_line() << "\x1b[K" << std::flush;
    shown_ = true;
  } else {
    *options_.out << plain_line() << std::endl;
  }
}

std::string Progress::terminal_line() const {
  const std::string counts = total_ > 0 ? fmt::format(" {}/{}", done_, total_) : fmt::format(" {}", done_);
  const std::string left = time_left().empty() ? "" : "  " + time_left();
  const std::string details = details_.empty() ? "" : "  " + details_;
  // The bar takes what the text leaves over; then the caller's text is cut, the time left last of all.
  const size_t fixed = count_characters(title_) + count_characters(counts) + count_characters(left);
  const size_t room = width() > fixed ? width() - fixed : 0;
  const size_t wanted = count_characters(details) + 1;
  const size_t bar_width = std::min(room > wanted ? room - wanted : 0, kWidestBar);
  const bool has_bar = total_ > 0 && bar_width >= kNarrowestBar;
  const double fraction = static_cast<double>(done_) / static_cast<double>(std::max<int64_t>(total_, 1));
  return truncate_characters(fmt::format("{}{}{}{}{}", title_, has_bar ? " " + bar(fraction, bar_width) : "",
                                         counts, truncate_characters(details, room), left),
                             width());
}

std::string Progress::plain_line() const {
  std::string line = fmt::format("{}: {}", title_, done_);
  if (total_ > 0) {
    const double per_cent = 100 * static_cast<double>(done_) / static_cast<double>(total_);
    line += fmt::format("/{} ({:.0f} %)", total_, std::floor(per_cent));
  }
  for (const std::string& part : {details_, time_left()}) {
    if (!part.empty()) line += ", " + part;
  }
  return line;
}

std::string Progress::time_left() const {
  if (total_ <= 0 || recent_work_ <= 0 || recent_seconds_ <= 0) return "";
  const double seconds = static_cast<double>(total_ - done_) * recent_seconds_ / recent_work_;
  return format_duration(std::ceil(std::max(seconds, 0.0))) + " left";
}

size_t Progress::width() const {
  if (options_.width > 0) return static_cast<size_t>(options_.width);
  // The last column stays free: some terminals go to the next line as soon as it is written.
  return static_cast<size_t>(std::max(terminal_columns(STDERR_FILENO) - 1, 1));
}

}  // namespace lact
