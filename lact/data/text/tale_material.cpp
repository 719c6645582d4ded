#include "lact/data/text/tale_material.h"

namespace lact::data::tales {

const Material& material() {
  static const Material all = {
      .women = {"Martha", "Anna",    "Clara",  "Edith",    "Flora", "Grace",   "Helen", "Ida",
                "Jane",   "Kate",    "Lucy",   "Mabel",    "Nora",  "Olive",   "Polly", "Rose",
                "Sarah",  "Tilda",   "Vera",   "Alice",    "Betsy", "Daisy",   "Ellen", "Fanny",
                "Hester", "Ivy",     "Judith", "Laura",    "Mary",  "Nelly",   "Peggy", "Rachel",
                "Susan",  "Theresa", "Ursula", "Winifred", "Agnes", "Bridget", "Dora",  "Emma"},
      .men = {"Adam",   "Ben",     "Charles", "David",  "Edgar",  "Frank",   "George",  "Henry",
              "Isaac",  "Jack",    "Leonard", "Martin", "Ned",    "Oliver",  "Peter",   "Ralph",
              "Samuel", "Thomas",  "Victor",  "Walter", "Albert", "Barney",  "Daniel",  "Ernest",
              "Felix",  "Gilbert", "Hugh",    "James",  "Kit",    "Luke",    "Matthew", "Nathan",
              "Oscar",  "Philip",  "Robert",  "Simon",  "Tobias", "Vincent", "William", "Arthur"},
      .pets = {"Pip",     "Tansy",  "Bramble", "Captain", "Dusty",  "Echo",    "Fig",    "Ginger",
               "Hobnob",  "Inky",   "Juniper", "Button",  "Lark",   "Muffin",  "Nutmeg", "Patch",
               "Quill",   "Rusty",  "Sable",   "Thistle", "Velvet", "Whisper", "Acorn",  "Biscuit",
               "Clover",  "Domino", "Ember",   "Fern",    "Gypsy",  "Hazel",   "Jester", "Kipper",
               "Lantern", "Marble", "Nettle",  "Pepper",  "Rascal", "Shadow",  "Tinker", "Wisp"},
      .animals = {"dog", "cat", "goat", "donkey", "goose", "pony", "hen", "raven", "hare", "lamb", "pig",
                  "owl", "fox", "parrot", "mule", "duck"},
      .materials = {"silver", "copper", "wooden", "golden", "velvet", "glass", "iron", "leather", "woollen",
                    "painted", "broken", "ivory"},
      .objects = {"key",     "bell",        "cup",    "flute",  "lamp",    "clock",  "ring",
                  "box",     "spoon",       "mirror", "fiddle", "comb",    "chain",  "basket",
                  "whistle", "candlestick", "cloak",  "hat",    "thimble", "compass"},
      .foods = {"pea soup",   "plum cake",    "fried eggs",  "onion pie",    "barley bread",
                "roast duck", "apple tart",   "honey cakes", "fish stew",    "cheese and pears",
                "mutton pie", "cabbage soup", "pancakes",    "baked beans",  "cherry jam",
                "smoked ham", "turnip stew",  "gingerbread", "rice pudding", "walnuts"},
      .manners = {"softly", "gravely", "cheerfully", "crossly", "slowly", "proudly", "sadly", "shyly",
                  "loudly", "politely", "eagerly", "drily"},
      .village_heads = {"Marsh", "Oak", "Stone", "Whit", "Elm", "Fal", "Harrow", "Lang", "Mill", "North",
                        "Pen", "Raven", "Swan", "Thorn"},
      .village_tails = {"wick", "ford", "ham", "combe", "ley", "dale", "stead", "bourne", "field", "mere"},
      .house_colours = {"red", "white", "yellow", "blue", "green", "grey", "brown", "black", "pink",
                        "crooked"},
      .house_places = {"by the mill", "on the hill", "behind the church", "near the bridge",
                       "at the crossroads", "beside the pond", "under the elms", "in the long lane",
                       "by the harbour", "below the castle", "at the edge of the wood", "next to the inn"},
      .places = {"the market", "the bridge", "the river", "the inn", "the church", "the old well",
                 "the meadow", "the orchard", "the crossroads", "the harbour", "the mill pond",
                 "the edge of the forest", "the blacksmith's yard", "the village green"},
      .weathers = {"It rained all day.", "The sun came out at last.", "A cold wind blew from the north.",
                   "Snow lay on the roofs.", "The fog was so thick that nobody could see the church.",
                   "The evening was warm and still.", "The stars were very bright.",
                   "Thunder rolled over the hills.", "The leaves had begun to fall.",
                   "The river had risen in the night.", "It was a clear morning, and the birds sang.",
                   "It was a dark night, without a moon."},
      .times = {"morning", "evening", "afternoon", "Sunday", "market day", "winter", "spring", "autumn",
                "night"},
      .trades = {{"baker", {"kneaded the dough", "took the loaves out of the oven"}},
                 {"weaver", {"sat at the loom", "wound the wool"}},
                 {"miller", {"filled the sacks with flour", "opened the sluice"}},
                 {"fisherman", {"mended the nets", "rowed out to the sandbank"}},
                 {"carpenter", {"planed the boards", "sawed a beam in two"}},
                 {"doctor", {"mixed a bitter medicine", "read in a thick book"}},
                 {"teacher", {"wrote on the blackboard", "counted the children"}},
                 {"shepherd", {"drove the flock uphill", "sheared the last ewe"}},
                 {"tailor", {"threaded the needle", "cut out a coat"}},
                 {"cobbler", {"hammered at a heel", "stitched a pair of boots"}},
                 {"gardener", {"watered the beans", "pruned the roses"}},
                 {"potter", {"turned the wheel", "fired the kiln"}},
                 {"clockmaker", {"oiled the springs", "wound up all the clocks"}},
                 {"ferryman", {"pulled at the rope", "took two strangers across"}},
                 {"butcher", {"sharpened the knives", "hung up the sausages"}},
                 {"painter", {"mixed the colours", "drew the church once more"}},
                 {"sailor", {"tied a knot", "told of the southern seas"}},
                 {"beekeeper", {"looked into the hives", "filled the jars with honey"}},
                 {"mason", {"laid the stones", "mended the wall"}},
                 {"singer", {"practised a sad song", "sang at the window"}},
                 {"hunter", {"followed the tracks", "cleaned the gun"}},
                 {"barber", {"shaved the mayor", "swept up the hair"}},
                 {"farmer", {"ploughed the upper field", "brought in the hay"}},
                 {"innkeeper", {"poured the cider", "lit the lamps in the hall"}}},
      .openings = {"This is a tale of the village of {village}. {weather}",
                   "Once, in the village of {village}, there lived people whom you shall know. {weather}",
                   "Nobody remembers now who built {village}, but everybody knows who lived there.",
                   "{weather} In {village} the fires were lit, and the tale begins.",
                   "It was a dark and windy evening in {village} when the tale began.",
                   "There is a road that leads to {village}. {weather}"},
      .introductions =
          {"{A.name} was the {A.trade} of {village} and lived in {A.house}. {A.He} had {a A.animal} called "
           "{A.pet}, and "
           "the best thing that {A.he} owned was {a A.thing}. {A.name} spoke {A.manner}.",
           "In {A.house} lived {A.name} the {A.trade}. {A.name} always spoke {A.manner}, even to {A.his} "
           "{A.animal}, whose "
           "name was {A.pet}. On the shelf stood {a A.thing}.",
           "There was {a A.trade} whose name was {A.name}. {A.He} lived in {A.house} with {a A.animal}, "
           "{A.pet}, and spoke "
           "{A.manner}. {A.His} {A.thing} was known to everyone in {village}.",
           "Then there was {A.name}, who lived in {A.house}. {A.He} was {a A.trade}, and {A.he} answered "
           "{A.manner} when one "
           "asked {A.him} about {A.his} {A.thing}. {A.pet}, {A.his} {A.animal}, was never far away.",
           "One day {A.name} the {A.trade} came to {village} with {a A.animal} called {A.pet} and {a "
           "A.thing} in a bag. "
           "\"I should like to live in {A.house},\" said {A.name} {A.manner}, and so {A.he} did."},
      .alone =
          {"{A.name} the {A.trade} {A.work}, as {A.he} did every {time}.",
           "{A.name} walked down to {place} with {A.his} {A.animal} {A.pet}.",
           "That {time} {A.name} sat in {A.house} and ate {A.food}.",
           "\"Where is my {A.thing}?\" asked {A.name} {A.manner}.",
           "{A.pet} the {A.animal} would not eat, so {A.name} gave it {A.food}.",
           "{A.name} took the {A.thing} from the shelf and looked at it for a long time.",
           "There was a light in {A.house}, for {A.name} the {A.trade} could not sleep.",
           "\"I am only {a A.trade},\" said {A.name} {A.manner}, \"but I know what I saw at {place}.\"",
           "{A.name} called for {A.pet}, but the {A.animal} had run off to {place}.",
           "A stranger asked the way to {A.house}. \"You mean the {A.trade},\" they told him, \"that is "
           "{A.name}.\"",
           "Somebody had left {a A.thing} at {place}. Everyone knew that it belonged to {A.name}.",
           "{a A.animal} was sleeping at {place}. It was {A.pet}, and {A.name} carried it home to {A.house}.",
           "The smell of {A.food} came out of {A.house}. {A.name} {A.work} and sang.",
           "{A.name} loved nothing so much as {A.food}, unless it was {A.his} {A.animal} {A.pet}.",
           "On the way home {A.name} the {A.trade} found that {A.his} {A.thing} was gone. \"I shall look for "
           "it,\" {A.he} "
           "said {A.manner}.",
           "\"Not today,\" said {A.name} {A.manner}, and went back to {A.house}.",
           "{A.name} {A.work} until {time}, and {A.pet} the {A.animal} watched {A.him}.",
           "All that {time} {A.pet} the {A.animal} lay by the fire in {A.house} and slept.",
           "\"{a A.trade} must rise early,\" said {A.name} {A.manner}, and {A.he} {A.work} before the sun "
           "was up.",
           "{A.name} could not find {A.pet}. In the end the {A.animal} was sitting on the roof of {A.house}.",
           "\"Who would steal {a A.thing}?\" {A.name} asked {A.manner}, and locked the door of {A.house}.",
           "When {A.name} was a child, {A.he} had been afraid of {place}. Now {A.he} was {a A.trade} and "
           "went "
           "there every {time}.",
           "{A.name} polished the {A.thing} until it shone.",
           "\"{A.pet} is the cleverest {A.animal} in {village},\" said {A.name} {A.manner}.",
           "A letter came for {A.name}. It said no more than this: \"Bring the {A.thing} to {place}.\"",
           "The door of {A.house} stood open, but {A.name} was not there. {A.He} had gone to {place} with "
           "{A.pet}.",
           "{A.name} fell asleep over a plate of {A.food} and dreamt of {place}.",
           "People said that {A.name} the {A.trade} kept {A.his} {A.thing} under the bed.",
           "\"I shall never sell my {A.thing},\" said {A.name} {A.manner}, \"not for all the {A.food} in the "
           "world.\"",
           "{A.pet} had hurt a foot, and {A.name} carried the {A.animal} all the way to {place}.",
           "The children laughed when {A.name} the {A.trade} came by with {A.his} {A.animal}. \"{A.pet}, "
           "{A.pet}!\" they called.",
           "That {time} {A.name} stayed in bed in {A.house} and would see nobody, not even {A.pet}.",
           "If you had asked {A.name} for {A.food}, {A.he} would have shared it with you, but never the "
           "{A.thing}.",
           "\"Good night, {A.pet},\" said {A.name} {A.manner}, and the {A.animal} closed its eyes.",
           "{A.name} was late that {time}. The {A.trade} had lost {A.his} way near {place}.",
           "Of all that the {A.trade} owned, {A.name} thought the {A.thing} the finest."},
      .together =
          {"\"Good day, {B.name},\" said {A.name} {A.manner}. \"How is {B.pet}?\" \"My {B.animal} is well,\" "
           "said {B.name} "
           "{B.manner}.",
           "{A.name} the {A.trade} met {B.name} the {B.trade} at {place}.",
           "{B.name} had lost {B.his} {B.thing}, and {A.name} helped {B.him} to look for it at {place}.",
           "{A.name} knocked at the door of {B.house}. \"Come in,\" said {B.name} {B.manner}, and put "
           "{B.food} on the table.",
           "{B.pet} the {B.animal} ran after {A.pet} the {A.animal}, all the way from {B.house} to "
           "{A.house}.",
           "\"May I borrow your {B.thing}?\" {A.name} asked {A.manner}. {B.name} the {B.trade} only laughed.",
           "{A.name} brought {B.food} to {B.name}, for {a B.trade} is always hungry.",
           "{A.name} and {B.name} sat at {place}. {A.name} had {A.his} {A.animal} {A.pet} with {A.him}, and "
           "{B.name} {B.his} "
           "{B.animal} {B.pet}.",
           "\"The {B.trade} is a friend of mine,\" said {A.name} {A.manner}. {A.He} meant {B.name}, who "
           "lived in {B.house}.",
           "{A.name} dreamt of the {B.thing} that belonged to {B.name}.",
           "\"Tell me,\" said {A.name}, \"who lives in {B.house}?\" \"That is {B.name} the {B.trade},\" they "
           "answered.",
           "{A.name} wrote a letter to {B.name}, and {A.pet} the {A.animal} carried it to {B.house}.",
           "\"They say that {B.name} is the best {B.trade} in the land,\" said {A.name} {A.manner}.",
           "{B.name} was ill, so {A.name} looked after {B.pet} the {B.animal} for a week in {A.house}.",
           "\"Is that your {B.thing}?\" {A.name} asked {A.manner}. \"It is,\" said {B.name} {B.manner}, "
           "\"and it "
           "has always been mine.\"",
           "{A.name} saw a light in {B.house} and knew that {B.name} was at home.",
           "{A.name} and {B.name} quarrelled about the {B.thing}, but before {time} they were friends again.",
           "{A.pet} and {B.pet} were the best of friends, though one was {a A.animal} and the other {a "
           "B.animal}.",
           "\"What does {B.name} like best?\" asked {A.name}. \"Nothing but {B.food},\" said the children.",
           "{B.name} the {B.trade} told {A.name} a story about {place}, and {A.name} laughed. \"Your "
           "{A.thing} "
           "is worth more than my whole story,\" said {B.name} {B.manner}.",
           "{A.name} hid the {A.thing} in {B.house}, where only {B.name} would find it.",
           "That {time} {A.name} walked from {A.house} to {B.house} to ask {B.name} for {B.food}.",
           "\"{a B.trade} and {a A.trade}, that is good company,\" said {A.name} {A.manner} to {B.name}.",
           "While {B.name} {B.work}, {A.name} told {B.him} what {A.he} had seen at {place}."},
      .swaps = {"{A.name} gave {A.his} {A.thing} to {B.name}, and got the {B.thing} for it.",
                "\"I will give you my {A.thing} for your {B.thing},\" said {A.name} {A.manner}. {B.name} the "
                "{B.trade} agreed, "
                "and from that day on each had what had been the other's."},
      .asides = {"{weather}", "The bells of {village} rang.", "Nobody was at {place} that {time}.",
                 "So the {time} passed in {village}.", "A cart rolled past {place}.",
                 "The children of {village} ran to {place}.",
                 "{weather} Still there were people at {place}."},
  };
  return all;
}

}  // namespace lact::data::tales
