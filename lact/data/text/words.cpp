#include <sstream>

#include "lact/data/text/haystack.h"

namespace lact::data {

namespace {

// In the order of the alphabet. Words whose first letter does not tell between "a" and "an" (hour, uniform)
// are left out, and so are "special" and "magic".
constexpr const char* kAdjectives =
    "able amber ample ancient anxious austere autumnal awkward bald bare bashful blue blunt bold "
    "brave brief bright brisk brittle broad bronze busy calm careful careless cautious cheerful "
    "chilly civil clean clever clumsy coarse cold common cosy crisp crooked cruel curious curly damp "
    "dark deep delicate dim distant dreary drowsy dry dull dusty eager early earnest easy elegant "
    "empty enormous even faint fair faithful famous fancy fierce fine flat fond foolish fragile "
    "frank fresh friendly frosty gaunt gentle giant glad gloomy golden graceful grand grave green "
    "grey grim handsome happy hardy harsh hasty hazy heavy hollow humble humid icy idle jolly keen "
    "kind large late lazy lean light little lively lofty lonely loud loyal lucky mellow merry mild "
    "modest muddy narrow neat nervous nimble noble noisy odd old pale patient plain polite proud "
    "quaint quick quiet rapid rare ready rich ripe rough round rusty sad scarlet serene shallow "
    "sharp shy silent silver simple sleepy slender slow small smooth sober soft solemn solid spare "
    "steady stern stiff stout strange strict sturdy subtle sunny swift tall tame tender thick thin "
    "tidy timid tired tranquil upright vague vast velvet violet vivid warm wary weary wicked wide "
    "wild willing windy wise wooden worn young ";

constexpr const char* kNouns =
    "acorn actor anchor angle animal ankle answer anvil apple apron arch archer armchair arrow attic "
    "author avenue axe baker balcony ball banner barber barge bark barn barrel basin basket bay "
    "beach bead beam bear beard bed bee beetle bell bellows bench berry bird biscuit blacksmith "
    "blanket blossom board boat bolt bone book boot bottle bough boulder bowl box branch bread "
    "breeze brick bridge brook broom brother brush bucket builder bundle bush butcher button cabin "
    "cabinet candle canoe canvas cap cape captain card carpet carriage cart castle cat cave ceiling "
    "cellar chain chair chapel chest child chimney church circle city clerk cliff cloak clock cloud "
    "coat coin collar compass cook corner cottage cousin cow cradle crane creek cricket crow crown "
    "cup cupboard curtain cushion dancer daughter deer desk diary doctor dog donkey door dove drawer "
    "dream dress drum duck eagle ear easel echo editor elbow engine envelope evening falcon farm "
    "farmer father feather fence ferry fiddle field fig finger fire fisherman flag flask fleet flood "
    "floor flower flute forest fork fountain fox friend frog garden gardener garment gate ghost "
    "glacier glass glove goat goose grape grove guard guest guitar gull hammer hand harbour harp "
    "harvest hat hawk hedge hen herb hermit hill hinge hive horn horse house hunter island jacket "
    "jar jewel journal judge jug kettle key kitchen kite kitten knife ladder lady lake lamp lane "
    "lantern leaf ledge lemon letter lighthouse lily lion lizard lock loom maiden map market marsh "
    "mason mast meadow melon merchant messenger mill miller mirror moon morning mother mountain "
    "mouse needle neighbour nest net night nurse oak oar oasis ocean office orchard otter oven owl "
    "ox painter palace parcel parrot path peach pear pebble pen pencil piano pier pigeon pillow "
    "pilot pine pipe planet plate plough plum pocket poet pond porch porter potter prince puppet "
    "quarry queen quilt rabbit raft rain raven ribbon ring river road robin roof room root rope rose "
    "saddle sailor salmon schoolmaster seed shadow shed sheep shelf shell shepherd ship shirt shoe "
    "shore shovel signal singer sister sledge soldier song sparrow spider spoon spring squirrel "
    "stable stair star statue stone stool storm stove stranger stream street student summer swallow "
    "swan table tailor tale teacher temple tent thimble thistle thread throne tiger tower town tree "
    "trumpet tunnel turtle uncle valley vase village vine violin visitor wagon wall walnut watchman "
    "waterfall wave weaver well wharf wheel whistle widow willow window winter wolf woodcutter yard ";

std::vector<std::string> split(const char* words) {
  std::istringstream stream(words);
  std::vector<std::string> result;
  for (std::string word; stream >> word;) result.push_back(word);
  return result;
}

}  // namespace

const std::vector<std::string>& adjectives() {
  static const std::vector<std::string> words = split(kAdjectives);
  return words;
}

const std::vector<std::string>& nouns() {
  static const std::vector<std::string> words = split(kNouns);
  return words;
}

}  // namespace lact::data
