#include "lact/data/text/tales.h"

#include <algorithm>
#include <string_view>

#include "lact/base/error.h"
#include "lact/base/random.h"
#include "lact/data/text/tale_material.h"

namespace lact::data {

namespace {

constexpr int64_t kFewestPeople = 3;

struct Person {
  bool woman = false;
  std::string name, house, animal, pet, thing, food, manner;
  tales::Trade trade;
};

/// Items of a list in random order, each once.
template <class T>
class Deck {
 public:
  Deck(std::vector<T> items, Random& random) : items_(std::move(items)) { random.shuffle(items_); }
  const T& draw() { return items_[next_++ % items_.size()]; }

 private:
  std::vector<T> items_;
  size_t next_ = 0;
};

std::vector<std::string> pairs(const std::vector<std::string>& heads, const std::vector<std::string>& tails,
                               std::string_view before, std::string_view between) {
  std::vector<std::string> all;
  for (const auto& head : heads)
    for (const auto& tail : tails) all.push_back(std::string(before) + head + std::string(between) + tail);
  return all;
}

std::vector<Person> draw_people(int64_t count, Random& random) {
  const auto& from = tales::material();
  std::vector<std::pair<std::string, bool>> names;
  for (const auto& name : from.women) names.emplace_back(name, true);
  for (const auto& name : from.men) names.emplace_back(name, false);
  Deck<std::pair<std::string, bool>> name_deck(names, random);
  Deck<std::string> houses(pairs(from.house_colours, from.house_places, "the ", " house "), random);
  Deck<std::string> things(pairs(from.materials, from.objects, "", " "), random);
  Deck<std::string> pets(from.pets, random);
  Deck<tales::Trade> trades(from.trades, random);
  std::vector<Person> people;
  for (int64_t i = 0; i < count; ++i) {
    const auto& [name, woman] = name_deck.draw();
    Person person;
    person.woman = woman;
    person.name = name;
    person.house = houses.draw();
    person.thing = things.draw();
    person.pet = pets.draw();
    person.trade = trades.draw();
    person.animal = random.choice(from.animals);
    person.food = random.choice(from.foods);
    person.manner = random.choice(from.manners);
    people.push_back(person);
  }
  return people;
}

std::string with_article(const std::string& noun) {
  return (std::string_view("aeiou").find(noun[0]) == std::string_view::npos ? "a " : "an ") + noun;
}

class Teller {
 public:
  Teller(const TalesOptions& options, uint64_t seed) : random_(seed) {
    const auto& from = tales::material();
    const std::string& head = random_.choice(from.village_heads);
    village_ = head + random_.choice(from.village_tails);
    people_ = draw_people(kFewestPeople + random_.below(options.people - kFewestPeople + 1), random_);
  }

  std::string begin() {
    return "The Tale of " + village_ + "\n\n" + fill(random_.choice(tales::material().openings));
  }

  std::string paragraph() {
    std::string text;
    if (known_ < people_.size() && (known_ < 2 || random_.below(5) < 2)) {
      a_ = known_++;
      add(text, tales::material().introductions);
    }
    for (int64_t left = 3 + random_.below(4); left > 0; --left) sentence(text);
    return text;
  }

 private:
  void add(std::string& text, const std::vector<std::string>& sentences) {
    if (!text.empty()) text += ' ';
    std::string said = fill(random_.choice(sentences));
    char& first = said[said[0] == '"' ? 1 : 0];
    if (first >= 'a' && first <= 'z') first = char(first - 'a' + 'A');
    text += said;
  }

  void sentence(std::string& text) {
    const auto& from = tales::material();
    const int64_t kind = random_.below(20);
    a_ = size_t(random_.below(int64_t(known_)));
    if (kind < 2) return add(text, from.asides);
    if (kind < 11 || known_ < 2) return add(text, from.alone);
    b_ = (a_ + 1 + size_t(random_.below(int64_t(known_) - 1))) % known_;
    if (kind < 19) return add(text, from.together);
    add(text, from.swaps);
    std::swap(people_[a_].thing, people_[b_].thing);
  }

  /// The sentence with its places filled in.
  std::string fill(std::string_view sentence) {
    std::string text;
    for (;;) {
      const size_t open = sentence.find('{');
      text += sentence.substr(0, open);
      if (open == std::string_view::npos) return text;
      const size_t close = sentence.find('}', open);
      text += word(sentence.substr(open + 1, close - open - 1));
      sentence.remove_prefix(close + 1);
    }
  }

  std::string word(std::string_view place) {
    const auto& from = tales::material();
    if (place == "village") return village_;
    if (place == "place") return random_.choice(from.places);
    if (place == "weather") return random_.choice(from.weathers);
    if (place == "time") return random_.choice(from.times);
    if (place.starts_with("a ")) return with_article(word(place.substr(2)));
    LACT_ASSERT(place.starts_with("A.") || place.starts_with("B."));
    return of(people_[place[0] == 'A' ? a_ : b_], place.substr(2));
  }

  std::string of(const Person& person, std::string_view field) {
    if (field == "name") return person.name;
    if (field == "trade") return person.trade.name;
    if (field == "work") return random_.choice(person.trade.work);
    if (field == "house") return person.house;
    if (field == "animal") return person.animal;
    if (field == "pet") return person.pet;
    if (field == "thing") return person.thing;
    if (field == "food") return person.food;
    if (field == "manner") return person.manner;
    if (field == "he") return person.woman ? "she" : "he";
    if (field == "He") return person.woman ? "She" : "He";
    if (field == "him") return person.woman ? "her" : "him";
    if (field == "his") return person.woman ? "her" : "his";
    LACT_ASSERT(field == "His");
    return person.woman ? "Her" : "His";
  }

  Random random_;
  std::string village_;
  std::vector<Person> people_;
  size_t known_ = 0;      ///< the first so many have been told of
  size_t a_ = 0, b_ = 0;  ///< whom a sentence is about
};

int64_t count_words(std::string_view text) {
  return 1 + std::count_if(text.begin(), text.end(), [](char c) { return c == ' '; });
}

class TaleSequences : public TokenSource {
 public:
  TaleSequences(const Tokenizer& tokenizer, const TalesOptions& options, uint64_t seed)
      : tokenizer_(tokenizer), options_(options), seed_(seed) {
    options.check();
  }

  void sequence(int64_t index, int64_t length, int64_t* out) const override {
    // A word has at least one token.
    const auto tokens = tokenizer_.encode(tale(options_, mix(seed_, uint64_t(index)), length));
    LACT_ASSERT(int64_t(tokens.size()) >= length);
    std::copy_n(tokens.begin(), length, out);
  }
  std::vector<int64_t> document_begins(int64_t /*index*/, int64_t /*length*/) const override { return {}; }
  int64_t num_sequences(int64_t) const override { return 0; }

 private:
  const Tokenizer& tokenizer_;
  TalesOptions options_;
  uint64_t seed_;
};

}  // namespace

void TalesOptions::check() const {
  const auto most = int64_t(tales::material().trades.size());
  LACT_CHECK(people >= kFewestPeople && people <= most, "[data] people is {}, expected {} to {}", people,
             kFewestPeople, most);
}

std::string tale(const TalesOptions& options, uint64_t seed, int64_t words) {
  options.check();
  Teller teller(options, seed);
  std::string text = teller.begin();
  for (int64_t told = count_words(text); told < words;) {
    const std::string paragraph = teller.paragraph();
    told += count_words(paragraph);
    text += "\n\n" + paragraph;
  }
  return text + "\n";
}

std::unique_ptr<TokenSource> tale_sequences(const Tokenizer& tokenizer, const TalesOptions& options,
                                            uint64_t seed) {
  return std::make_unique<TaleSequences>(tokenizer, options, seed);
}

}  // namespace lact::data
