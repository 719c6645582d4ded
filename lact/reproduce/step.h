// A command of the suite: what a user could type, and when it can run.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace lact::reproduce {

class Results;

/// The words of a command behind `lact`. "@out" inside of a word is the folder of the step itself, "@ID" that
/// of another one, which the step then needs.
using Words = std::vector<std::string>;

/// Steps of the same id in several experiments are one: they have to be alike.
struct Step {
  std::string id;     ///< letters, digits, '_', '-' and '.': the name of its folder begins with it
  std::string label;  ///< for people: "LaCT, Muon, seed 2"
  Words words;

  /// Steps whose results decide about `words`: then `choose` makes the words from their results, such as the
  /// rate that a sweep found best. Needs that "@ID" names are added by themselves.
  std::vector<std::string> needs = {};
  std::function<Words(const Results&)> choose = {};

  bool alone = false;  ///< measures time: gets all cores, and nothing runs beside it
  double work = 1;     ///< seconds of one core that it is expected to take, for the time left
};

}  // namespace lact::reproduce
