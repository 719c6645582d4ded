// What tales are made of: words to choose from, and sentences with places for them.
#pragma once

#include <string>
#include <vector>

namespace lact::data::tales {

struct Trade {
  std::string name;
  std::vector<std::string> work;  ///< what one did: "kneaded the dough"
};

/// Sentences name what they need in braces. Of the tale: {village}, {place}, {weather}, {time}. Of the one
/// that a sentence is about, A, and another, B: {A.name}, {A.trade}, {A.work}, {A.house}, {A.animal},
/// {A.pet}, {A.thing}, {A.food}, {A.manner}, and {A.he}, {A.He}, {A.him}, {A.his}, {A.His}.
struct Material {
  std::vector<std::string> women, men, pets, animals, materials, objects, foods, manners;
  std::vector<std::string> village_heads, village_tails, house_colours, house_places, places, weathers, times;
  std::vector<Trade> trades;

  std::vector<std::string> openings;  ///< how a tale begins
  std::vector<std::string>
      introductions;                  ///< who somebody is, with all that is known of a person but the food
  std::vector<std::string> alone;     ///< somebody does something
  std::vector<std::string> together;  ///< with somebody else
  std::vector<std::string> swaps;     ///< after which each has the thing of the other
  std::vector<std::string> asides;    ///< about nobody
};

const Material& material();

}  // namespace lact::data::tales
