#include "lact/data/text/haystack.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "lact/base/random.h"

namespace lact::data {

namespace {

// A letter after % stands for a part drawn anew: N a noun phrase, T a verb that takes one, I a verb that
// takes none, P a place, D an adverb, A an adjective, S a noun in the singular, O an opening, W somebody, Q
// what somebody says. Everything else is written as it stands.
constexpr std::array kSentences = {
    "%N %T %N.",
    "%N %I %P.",
    "%O, %N %T %N %P.",
    "%O, %N %I, and %N %T %N.",
    "%N %D %T %N.",
    "%W %T %N %P, although %N %I.",
    "When %N %I, %W %T %N.",
    "While %N %I %P, %N %D %T %N.",
    "There was %N %P, and beside it %N %I.",
    "Nobody knew why %N %T %N.",
    "Who would have thought that %N %T %N?",
    "Why had %N so %D %T %N?",
    "Was it %N that %T %N %P?",
    "How %A %N looked %P!",
    "What a pity that %N %I %P!",
    "It is said that %N which %T %N is never %A again.",
    "%W, who %D %T %N, had no use for %N.",
    "If %N is %A, then %N must be %A too.",
    "Neither %N nor %N %T %N.",
    "\"%Q,\" said %W, and %N %I.",
    "\"%Q!\" cried %W.",
    "We may learn more from %N than from %N, for %N %I.",
    "Between %N and %N lay nothing but %N.",
    "Some hold that every %S is %A; others, that no %S ever %I.",
    "%O, the %S seemed %A, the %S seemed %A, and %W %I.",
    "Not until %N %I did %W leave %N %P.",
};
constexpr std::array kNounPhrases = {"the %S",    "the %A %S", "the %A, %A %S",    "a %S",
                                     "a %A %S",   "every %S",  "this %A %S",       "that %S",
                                     "the %A %S", "our %S",    "the %S of the %S", "my %A %S"};
constexpr std::array kTransitive = {"admired",  "avoided",  "carried", "concealed", "covered",  "described",
                                    "followed", "found",    "guarded", "imitated",  "measured", "mended",
                                    "missed",   "observed", "painted", "passed",    "praised",  "preferred",
                                    "reached",  "received", "sought",  "surprised", "touched",  "wanted"};
constexpr std::array kIntransitive = {
    "waited",     "rested",     "vanished", "remained", "wandered", "trembled", "returned",     "listened",
    "grew weary", "kept still", "arrived",  "departed", "smiled",   "fell",     "rotated away", "awoke"};
constexpr std::array kPlaces = {
    "near %N",     "beyond %N",     "under %N",     "beside %N",       "behind %N",
    "above %N",    "by the %S",     "in the %A %S", "across the %S",   "at the end of the %S",
    "far from %N", "before the %S", "in the open",  "without a sound", "until the %S was gone"};
constexpr std::array kAdverbs = {"slowly", "gladly",  "often",   "rarely", "boldly",    "carefully",
                                 "softly", "seldom",  "quickly", "calmly", "patiently", "secretly",
                                 "warmly", "proudly", "wisely",  "kindly"};
constexpr std::array kOpenings = {"In those days",   "After a while",     "Towards the evening",
                                  "Once a year",     "For a moment",      "As a rule",
                                  "In the end",      "On the other side", "By and by",
                                  "Now and then",    "To our surprise",   "In truth",
                                  "At first",        "Before sunrise",    "Long ago",
                                  "Little by little"};
constexpr std::array kPeople = {
    "the traveller", "my grandmother",    "a stranger", "the old teacher", "she", "he",
    "the captain",   "one of the guests", "somebody",   "the youngest"};
constexpr std::array kSayings = {
    "Look after the %S",     "There is no %S here", "I have seen the %A %S", "Nothing is as %A as %N",
    "Take the %S to the %S", "It was only %N",      "Bring me %N",           "The %S is ours"};

void write(const char* pattern, Random& random, std::string& out);

void write_part(char part, Random& random, std::string& out) {
  const auto one_of = [&](const auto& patterns) { write(random.choice(patterns), random, out); };
  switch (part) {
    case 'N':
      return one_of(kNounPhrases);
    case 'T':
      return one_of(kTransitive);
    case 'I':
      return one_of(kIntransitive);
    case 'P':
      return one_of(kPlaces);
    case 'D':
      return one_of(kAdverbs);
    case 'O':
      return one_of(kOpenings);
    case 'W':
      return one_of(kPeople);
    case 'Q':
      return one_of(kSayings);
    case 'A':
      out += random.choice(adjectives());
      return;
    case 'S':
      out += random.choice(nouns());
      return;
  }
  LACT_ASSERT(!"a pattern names a part that exists");
}

bool ends_in_article(const std::string& text) {
  return text.ends_with(" a ") || text.ends_with("\"a ") || text == "a ";
}

void write(const char* pattern, Random& random, std::string& out) {
  for (const char* c = pattern; *c != '\0'; ++c) {
    if (*c != '%') {
      out += *c;
      continue;
    }
    const size_t begin = out.size();
    const bool article = ends_in_article(out);
    write_part(*++c, random, out);
    if (article && std::string("aeiou").find(out[begin]) != std::string::npos) out.insert(begin - 1, "n");
  }
}

std::string sentence(Random& random) {
  std::string text;
  write(random.choice(kSentences), random, text);
  const size_t first = text.find_first_not_of('"');
  text[first] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[first])));
  return text;
}

}  // namespace

std::string essay_text(uint64_t seed, int64_t words) {
  Random random(seed);
  std::string text;
  int64_t left_in_paragraph = 0;
  for (int64_t count = 0; count < words;) {
    if (!text.empty()) text += left_in_paragraph > 0 ? " " : "\n\n";
    if (left_in_paragraph == 0) left_in_paragraph = 4 + random.below(6);
    --left_in_paragraph;
    const std::string next = sentence(random);
    count += 1 + std::count(next.begin(), next.end(), ' ');
    text += next;
  }
  return text;
}

}  // namespace lact::data
