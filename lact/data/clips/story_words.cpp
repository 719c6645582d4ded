#include "lact/data/clips/story_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lact::data::stories {

namespace {

const char* side_word(Side side) {
  switch (side) {
    case Side::left:
      return "to the left";
    case Side::right:
      return "to the right";
    case Side::top:
      return "upwards";
    case Side::bottom:
      break;
  }
  return "downwards";
}

std::string with_article(const Event& event) {
  const std::string words = event.tells_look ? look_words(event.look) : shape_word(event.look.shape);
  return (std::string_view("aeio").find(words[0]) == std::string_view::npos ? "a " : "an ") + words;
}

std::string sentence(std::string words) {
  words[0] = static_cast<char>(words[0] - 'a' + 'A');
  return words + ".";
}

std::string what_happens(const Event& event) {
  switch (event.kind) {
    case Event::Kind::comes:
      return "comes in";
    case Event::Kind::comes_and_goes:
      return "comes and goes";
    case Event::Kind::leaves:
      return fmt::format("leaves {} and comes back", side_word(event.side));
    case Event::Kind::hides:
      return "hides behind a pillar and comes out again";
    default:
      return "stays";
  }
}

std::string words_of_pan(const std::vector<Event>& events, Side pan) {
  std::vector<std::string> home, away;
  for (const Event& event : events)
    (event.kind == Event::Kind::home ? home : away).push_back(with_article(event));
  return fmt::format(
      "{} {} {}", sentence(fmt::format("{}", fmt::join(home, " and "))),
      sentence(fmt::format("the camera pans {} to {}", side_word(pan), fmt::join(away, " and "))),
      "It returns.");
}

}  // namespace

std::string story_words(const std::vector<Event>& events, std::optional<Side> pan) {
  if (pan) return words_of_pan(events, *pan);
  std::vector<std::string> sentences;
  for (const Event& event : events)
    sentences.push_back(sentence(with_article(event) + " " + what_happens(event)));
  return fmt::format("{}", fmt::join(sentences, " "));
}

}  // namespace lact::data::stories
