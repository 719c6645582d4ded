#include "lact/parallel/slurm_lists.h"

#include <charconv>

#include "lact/base/error.h"

namespace lact::parallel {

namespace {

constexpr std::string_view kNodeDigits = "0123456789";

/// Takes a number off the front of `text`.
std::optional<int64_t> take_front_number(std::string_view& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  text.remove_prefix(size_t(end - text.data()));
  return number;
}

bool take_front(std::string_view& text, std::string_view begin) {
  if (!text.starts_with(begin)) return false;
  text.remove_prefix(begin.size());
  return true;
}

}  // namespace

std::string first_host(std::string_view nodes) {
  // A name may have several brackets, "rack[1-2]node[5,7]": the first number of each belongs to the first
  // host.
  std::string host;
  std::string_view rest = nodes;
  bool sound = true;
  while (sound && !rest.empty() && rest.front() != ',') {
    if (!take_front(rest, "[")) {
      host += rest.front();
      rest.remove_prefix(1);
      continue;
    }
    const size_t digits = std::min(rest.find_first_not_of(kNodeDigits), rest.size());
    const size_t close = rest.find(']');
    sound = digits > 0 && close != std::string_view::npos;
    host += rest.substr(0, digits);  // with its zeros: "03"
    if (sound) rest.remove_prefix(close + 1);
  }
  LACT_CHECK(sound && !host.empty() && host.find_first_of("] \t") == std::string::npos,
             "[environment] \"{}\" is no list of nodes, expected one like gpu[03-07,11],login1", nodes);
  return host;
}

std::optional<int64_t> tasks_on_node(std::string_view tasks, int64_t node) {
  while (!tasks.empty()) {
    const auto count = take_front_number(tasks);
    if (!count) return std::nullopt;
    int64_t nodes = 1;
    if (take_front(tasks, "(x")) {
      const auto repeats = take_front_number(tasks);
      if (!repeats || !take_front(tasks, ")")) return std::nullopt;
      nodes = *repeats;
    }
    if (node < nodes) return count;
    node -= nodes;
    if (!take_front(tasks, ",")) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace lact::parallel
