#include "lact/cli/numbers.h"

#include <fmt/format.h>

namespace lact::cli {

namespace {

template <class Number>
std::string refusal(const std::string& text, Limits limits) {
  Number value{};
  if (!CLI::detail::lexical_cast(text, value)) {
    return fmt::format("\"{}\" is not a {}number", text, std::is_integral_v<Number> ? "whole " : "");
  }
  // Not a comparison with what lies outside: NaN would pass it.
  if (double(value) >= limits.least && double(value) <= limits.most) return "";
  return fmt::format("{} is out of range, expected {:.10g} to {:.10g}", text, limits.least, limits.most);
}

/// For the help page; the usual limits go without saying.
std::string description(Limits limits, Limits usual) {
  if (limits.most >= usual.most) return "";
  return fmt::format("in [{:.10g} - {:.10g}]", limits.least, limits.most);
}

}  // namespace

CLI::Validator whole_within(Limits limits) {
  return {[limits](const std::string& text) {
            // The largest seeds fit only an unsigned number.
            const bool large = limits.most > 9.2e18 && text.find('-') == std::string::npos;
            return large ? refusal<uint64_t>(text, limits) : refusal<int64_t>(text, limits);
          },
          description(limits, kUsualWhole)};
}

CLI::Validator real_within(Limits limits) {
  return {[limits](const std::string& text) { return refusal<double>(text, limits); },
          description(limits, kUsualReal)};
}

}  // namespace lact::cli
