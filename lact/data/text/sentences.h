// Where sentences of English prose end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lact::data {

/// Cuts `text` at the blanks that follow a sentence's end: one of . ! ? and the quotes and brackets that
/// close after it, but not the point of an abbreviation (Mr., e.g.) or an initial (J.). Joined by blanks, the
/// sentences are the text again; an empty text has none. Blanks at both ends belong to nobody and must not be
/// there.
std::vector<std::string> split_sentences(std::string_view text);

}  // namespace lact::data
