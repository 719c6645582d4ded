#include <algorithm>
#include <limits>
#include <unordered_map>

#include "lact/data/text/piece_encoder.h"
#include "lact/data/text/utf8.h"

namespace lact::data {

namespace {

using Kind = SentencePieceModel::Kind;

/// All pieces by their bytes: a step from a node along a byte leads to a node.
class Trie {
 public:
  void insert(std::string_view text, int32_t piece) {
    uint32_t node = 0;
    for (const char byte : text) {
      const auto [step, added] = steps_.try_emplace(key(node, byte), static_cast<uint32_t>(pieces_.size()));
      if (added) pieces_.push_back(-1);
      node = step->second;
    }
    pieces_[node] = piece;
  }

  /// visit(length, piece) for each piece that `text` begins with, short ones first.
  template <class Visit>
  void prefixes(std::string_view text, Visit visit) const {
    uint32_t node = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      const auto step = steps_.find(key(node, text[i]));
      if (step == steps_.end()) return;
      node = step->second;
      if (pieces_[node] >= 0) visit(i + 1, pieces_[node]);
    }
  }

 private:
  static uint64_t key(uint32_t node, char byte) { return uint64_t{node} << 8 | static_cast<uint8_t>(byte); }

  std::unordered_map<uint64_t, uint32_t> steps_;
  std::vector<int32_t> pieces_{-1};  // of each node; -1: no piece ends here
};

class UnigramEncoder final : public PieceEncoder {
 public:
  explicit UnigramEncoder(const SentencePieceModel& model) : model_(model) {
    float lowest = std::numeric_limits<float>::max();
    float highest = std::numeric_limits<float>::lowest();
    for (size_t i = 0; i < model.pieces.size(); ++i) {
      const auto& piece = model.pieces[i];
      if (piece.kind == Kind::normal) {
        lowest = std::min(lowest, piece.score);
        highest = std::max(highest, piece.score);
      }
      if (model.is_text(piece) && piece.kind != Kind::unused)
        trie_.insert(piece.text, static_cast<int32_t>(i));
    }
    constexpr float kUnknownPenalty = 10;
    unknown_score_ = lowest - kUnknownPenalty;
    highest_score_ = highest;
  }

  // The scores are float32, so their sums in double are exact for any text that fits in memory: what is
  // chosen inside a word does not depend on the text before it.
  std::vector<FoundPiece> encode(std::string_view normalized) const override {
    struct Best {
      double score = 0;
      size_t begin = 0;
      int32_t piece = -1;  // -1: nothing ends here
    };
    std::vector<Best> best(normalized.size() + 1);
    for (size_t begin = 0; begin < normalized.size();) {
      const std::string_view rest = normalized.substr(begin);
      const size_t character = first_utf8_character(rest).bytes;
      const auto offer = [&](size_t length, int32_t piece, double score) {
        Best& end = best[begin + length];
        const double sum = best[begin].score + score;
        if (end.piece < 0 || sum > end.score) end = {sum, begin, piece};
      };
      bool character_is_piece = false;
      trie_.prefixes(rest, [&](size_t length, int32_t piece) {
        const auto& [text, score, kind] = model_.pieces[piece];
        // A user-defined symbol beats every other way to write the same text.
        offer(length, piece,
              kind == Kind::user_defined ? static_cast<double>(length) * highest_score_ - 0.1 : score);
        character_is_piece |= length == character;
      });
      if (!character_is_piece) offer(character, model_.unknown, unknown_score_);
      begin += character;
    }
    std::vector<FoundPiece> found;
    for (size_t end = normalized.size(); end > 0; end = best[end].begin) {
      found.push_back({normalized.substr(best[end].begin, end - best[end].begin), best[end].piece});
    }
    std::reverse(found.begin(), found.end());
    return found;
  }

 private:
  const SentencePieceModel& model_;
  Trie trie_;
  double unknown_score_ = 0, highest_score_ = 0;
};

}  // namespace

std::unique_ptr<PieceEncoder> unigram_encoder(const SentencePieceModel& model) {
  return std::make_unique<UnigramEncoder>(model);
}

}  // namespace lact::data
