// Every number on the command line has limits, which are checked while the words are read: before any work,
// in a sentence that names the option.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace lact::cli {

/// Both ends included.
struct Limits {
  double least, most;
};

/// Counts and amounts: nothing negative, and nothing whose product with another such number would overflow.
inline constexpr Limits kUsualWhole = {0, 2147483647};
inline constexpr Limits kUsualReal = {0, 1e12};
/// Seeds: any number that the type can hold.
inline constexpr Limits kAny = {-9.3e18, 1.9e19};

inline constexpr Limits kFromOne = {1, 2147483647};
inline constexpr Limits kShare = {0, 1};
inline constexpr Limits kTokens = {1, 1 << 30};     ///< of one sequence
inline constexpr Limits kHelperThreads = {1, 256};  ///< beside the training
inline constexpr Limits kFramesPerSecond = {0.01, 1000};

/// Refuses whole numbers outside of `limits`, and what is no whole number.
CLI::Validator whole_within(Limits limits);

/// The same for all numbers. NaN and infinity are refused.
CLI::Validator real_within(Limits limits);

namespace detail {
template <class T>
struct NumberOf {
  using type = T;
};
template <class T>
struct NumberOf<std::vector<T>> : NumberOf<T> {};
template <class T>
struct NumberOf<std::optional<T>> : NumberOf<T> {};
}  // namespace detail

/// What a value holds: itself, or the elements of a list.
template <class T>
using NumberOf = typename detail::NumberOf<T>::type;

template <class T>
inline constexpr bool kIsNumber = std::is_arithmetic_v<NumberOf<T>> && !std::is_same_v<NumberOf<T>, bool>;

/// The check of an option that reads into a number of type T, or into a list of them.
template <class T>
CLI::Validator within(Limits limits) {
  if constexpr (std::is_integral_v<NumberOf<T>>) return whole_within(limits);
  return real_within(limits);
}
template <class T>
CLI::Validator within_usual() {
  return within<T>(std::is_integral_v<NumberOf<T>> ? kUsualWhole : kUsualReal);
}

/// An option for a number, or for a list of numbers, with limits; by default the usual ones.
template <class T>
CLI::Option* add_number(CLI::App& verb, const std::string& name, T& value, const std::string& help,
                        std::optional<Limits> limits = std::nullopt) {
  static_assert(kIsNumber<T>);
  return verb.add_option(name, value, help)->check(limits ? within<T>(*limits) : within_usual<T>());
}

}  // namespace lact::cli
