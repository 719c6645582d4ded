#include "lact/data/text/sentencepiece_model.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <unordered_set>

#include "lact/base/error.h"
#include "lact/base/options.h"
#include "lact/data/text/protobuf_reader.h"
#include "lact/data/text/utf8.h"

namespace lact::data {

namespace {

using Kind = SentencePieceModel::Kind;

constexpr size_t kMaxPieces = size_t{1} << 24;
constexpr size_t kLongestPiece = 4096;  // SentencePiece's own are of 512 characters at most

/// In quotes and on one line, whatever it holds. `text` is valid UTF-8.
std::string in_quotes(const std::string& text) { return options::Json(text).dump(); }

SentencePieceModel::Piece parse_piece(std::string_view message, const std::string& name) {
  SentencePieceModel::Piece piece;
  for (ProtobufReader reader(message, name); reader.next();) {
    if (reader.field() == 1) piece.text = reader.bytes();
    if (reader.field() == 2) piece.score = reader.number();
    if (reader.field() == 3) {
      const int64_t kind = reader.integer();
      LACT_CHECK(kind >= 1 && kind <= 6, "{}: a piece has type {}, expected 1 to 6", name, kind);
      piece.kind = static_cast<Kind>(kind);
    }
  }
  LACT_CHECK(!piece.text.empty(), "{}: a piece is empty", name);
  LACT_CHECK(piece.text.size() <= kLongestPiece, "{}: a piece has {} bytes, expected at most {}", name,
             piece.text.size(), kLongestPiece);
  LACT_CHECK(!find_invalid_utf8(piece.text), "{}: a piece is not valid UTF-8", name);
  LACT_CHECK(std::isfinite(piece.score), "{}: the score of piece {} is not a finite number", name,
             in_quotes(piece.text));
  return piece;
}

/// How the model was trained; gives the text of the end-of-sentence piece.
std::string parse_training(std::string_view message, const std::string& name, SentencePieceModel& model) {
  std::string end_of_sentence = "</s>";
  for (ProtobufReader reader(message, name); reader.next();) {
    switch (reader.field()) {
      case 3: {
        const int64_t type = reader.integer();
        LACT_CHECK(type == 1 || type == 2, "{}: the model type is {}, expected 1 (unigram) or 2 (BPE)", name,
                   type);
        model.is_bpe = type == 2;
        break;
      }
      case 24:
        LACT_CHECK(reader.integer() == 0, "{}: the model puts blanks behind words, expected before", name);
        break;
      case 35:
        model.byte_fallback = reader.integer() != 0;
        break;
      case 47:
        end_of_sentence = reader.bytes();
        break;
      default:
        break;
    }
  }
  return end_of_sentence;
}

void parse_normalisation(std::string_view message, const std::string& name, SentencePieceModel& model) {
  for (ProtobufReader reader(message, name); reader.next();) {
    switch (reader.field()) {
      case 2:
        model.character_map = reader.bytes();
        break;
      case 3:
        model.add_dummy_prefix = reader.integer() != 0;
        break;
      case 4:
        model.remove_extra_whitespaces = reader.integer() != 0;
        break;
      case 5:
        LACT_CHECK(reader.integer() != 0, "{}: the model does not mark blanks by U+2581", name);
        break;
      default:
        break;
    }
  }
}

/// The byte of a piece like "<0x0A>".
uint8_t byte_of(const std::string& text, const std::string& name) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const bool framed = text.size() == 6 && text.compare(0, 3, "<0x") == 0 && text[5] == '>';
  const size_t high = framed ? kDigits.find(text[3]) : std::string_view::npos;
  const size_t low = framed ? kDigits.find(text[4]) : std::string_view::npos;
  LACT_CHECK(high != std::string_view::npos && low != std::string_view::npos,
             "{}: the byte piece {} is not like <0x0A>", name, in_quotes(text));
  return static_cast<uint8_t>(high * 16 + low);
}

void index_pieces(const std::string& name, const std::string& end_of_sentence, SentencePieceModel& model) {
  std::unordered_set<std::string_view> seen;
  model.byte_pieces.fill(-1);
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    const auto& [text, score, kind] = model.pieces[i];
    const auto id = static_cast<int32_t>(i);
    LACT_CHECK(seen.insert(text).second, "{}: the piece {} is there twice", name, in_quotes(text));
    if (kind == Kind::unknown) {
      LACT_CHECK(model.unknown < 0, "{}: there are two unknown pieces, {} and {}", name, model.unknown, id);
      model.unknown = id;
    }
    if (kind == Kind::control && text == end_of_sentence) model.end_of_sentence = id;
    if (kind == Kind::byte) model.byte_pieces[byte_of(text, name)] = id;
    if (kind == Kind::user_defined) {
      model.user_symbols.insert(text);
      model.longest_user_symbol = std::max(model.longest_user_symbol, text.size());
    }
  }
  LACT_CHECK(model.unknown >= 0, "{}: is not a SentencePiece model: it has no unknown piece", name);
  const auto missing = std::find(model.byte_pieces.begin(), model.byte_pieces.end(), -1);
  LACT_CHECK(!model.byte_fallback || missing == model.byte_pieces.end(),
             "{}: the piece of the byte 0x{:02x} is missing", name, missing - model.byte_pieces.begin());
}

}  // namespace

size_t SentencePieceModel::user_symbol_at(std::string_view text) const {
  std::string_view prefix = text.substr(0, longest_user_symbol);
  while (!prefix.empty()) {
    const auto behind = user_symbols.upper_bound(prefix);
    if (behind == user_symbols.begin()) return 0;
    const std::string& symbol = *std::prev(behind);
    if (prefix.starts_with(symbol)) return symbol.size();
    // A longer beginning of `prefix` would stand between the symbol and `prefix`, where there is none.
    const auto apart = std::mismatch(prefix.begin(), prefix.end(), symbol.begin(), symbol.end()).first;
    prefix = prefix.substr(0, size_t(apart - prefix.begin()));
  }
  return 0;
}

bool SentencePieceModel::is_text(const Piece& piece) const {
  return piece.kind == Kind::normal || piece.kind == Kind::user_defined || piece.kind == Kind::unused;
}

SentencePieceModel parse_sentencepiece_model(std::string_view bytes, const std::string& name) {
  LACT_CHECK(!bytes.empty(), "{}: the file is empty, expected a SentencePiece model", name);
  SentencePieceModel model;
  std::string end_of_sentence = "</s>";
  for (ProtobufReader reader(bytes, name); reader.next();) {
    switch (reader.field()) {
      case 1:
        LACT_CHECK(model.pieces.size() < kMaxPieces, "{}: there are more than {} pieces", name, kMaxPieces);
        model.pieces.push_back(parse_piece(reader.bytes(), name));
        break;
      case 2:
        end_of_sentence = parse_training(reader.bytes(), name, model);
        break;
      case 3:
        parse_normalisation(reader.bytes(), name, model);
        break;
      default:
        break;
    }
  }
  LACT_CHECK(!model.pieces.empty(), "{}: is not a SentencePiece model: it has no pieces", name);
  index_pieces(name, end_of_sentence, model);
  return model;
}

}  // namespace lact::data
