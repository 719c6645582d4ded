#include "lact/data/clips/story_words.h"

#include <gtest/gtest.h>

namespace lact::data::stories {
namespace {

Event event_of(Shape shape, Event::Kind kind, bool tells_look = false) {
  Event event;
  event.look.shape = shape;
  event.look.main.hue = 1;
  event.kind = kind;
  event.side = Side::top;
  event.tells_look = tells_look;
  return event;
}

TEST(StoryWords, TellWhatThingsDo) {
  EXPECT_EQ(
      story_words({event_of(Shape::star, Event::Kind::leaves), event_of(Shape::ring, Event::Kind::hides),
                   event_of(Shape::disc, Event::Kind::stays, true)},
                  std::nullopt),
      "A star leaves upwards and comes back. A ring hides behind a pillar and comes out again. "
      "An orange disc stays.");
  EXPECT_EQ(story_words({event_of(Shape::moon, Event::Kind::comes)}, std::nullopt), "A moon comes in.");
  EXPECT_EQ(story_words({event_of(Shape::moon, Event::Kind::comes_and_goes)}, std::nullopt),
            "A moon comes and goes.");
}

TEST(StoryWords, TellWhereTheCameraGoes) {
  EXPECT_EQ(story_words({event_of(Shape::star, Event::Kind::home), event_of(Shape::ring, Event::Kind::home),
                         event_of(Shape::disc, Event::Kind::away, true)},
                        Side::right),
            "A star and a ring. The camera pans to the right to an orange disc. It returns.");
}

}  // namespace
}  // namespace lact::data::stories
