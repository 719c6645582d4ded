#include <queue>
#include <unordered_map>
#include <utility>

#include "lact/data/text/piece_encoder.h"
#include "lact/data/text/utf8.h"

namespace lact::data {

namespace {

using Kind = SentencePieceModel::Kind;

struct Symbol {
  std::string_view text;  // empty once merged into its left neighbour
  int64_t left, right;    // -1: none
  bool fixed;             // user-defined symbols are never merged
};

struct Merge {
  float score;
  int64_t left, right;
  size_t bytes;  // of both symbols, to notice that one has changed since

  bool operator<(const Merge& other) const {
    return score < other.score || (score == other.score && left > other.left);
  }
};

using Pieces = std::unordered_map<std::string_view, int32_t>;

/// The state of one call.
class Merger {
 public:
  Merger(const SentencePieceModel& model, const Pieces& pieces, std::string_view text)
      : model_(model), pieces_(pieces) {
    while (!text.empty()) {
      const size_t fixed = model.user_symbol_at(text);
      const size_t bytes = fixed > 0 ? fixed : first_utf8_character(text).bytes;
      const auto place = static_cast<int64_t>(symbols_.size());
      symbols_.push_back({text.substr(0, bytes), place - 1, place + 1, fixed > 0});
      text.remove_prefix(bytes);
    }
    if (!symbols_.empty()) symbols_.back().right = -1;
  }

  std::vector<FoundPiece> run() {
    for (size_t i = 1; i < symbols_.size(); ++i)
      propose(static_cast<int64_t>(i) - 1, static_cast<int64_t>(i));
    while (!merges_.empty()) {
      const Merge merge = merges_.top();
      merges_.pop();
      Symbol& left = symbols_[merge.left];
      Symbol& right = symbols_[merge.right];
      if (left.text.empty() || right.text.empty() || left.text.size() + right.text.size() != merge.bytes)
        continue;
      left.text = {left.text.data(), merge.bytes};
      left.right = right.right;
      if (right.right >= 0) symbols_[right.right].left = merge.left;
      right.text = {};
      propose(left.left, merge.left);
      propose(merge.left, left.right);
    }
    std::vector<FoundPiece> found;
    for (int64_t i = symbols_.empty() ? -1 : 0; i >= 0; i = symbols_[i].right) emit(symbols_[i].text, found);
    return found;
  }

 private:
  void propose(int64_t left, int64_t right) {
    if (left < 0 || right < 0 || symbols_[left].fixed || symbols_[right].fixed) return;
    const size_t bytes = symbols_[left].text.size() + symbols_[right].text.size();
    const std::string_view text(symbols_[left].text.data(), bytes);
    const auto piece = pieces_.find(text);
    if (piece == pieces_.end()) return;
    merges_.push({model_.pieces[piece->second].score, left, right, bytes});
    // An unused piece is a step towards longer ones; where it stays, it is taken apart again.
    if (model_.pieces[piece->second].kind == Kind::unused)
      halves_[text] = {symbols_[left].text, symbols_[right].text};
  }

  void emit(std::string_view text, std::vector<FoundPiece>& found) const {
    const auto piece = pieces_.find(text);
    const int32_t id = piece == pieces_.end() ? model_.unknown : piece->second;
    const auto halves = halves_.find(text);
    if (model_.pieces[id].kind != Kind::unused || halves == halves_.end()) {
      found.push_back({text, id});
    } else {
      emit(halves->second.first, found);
      emit(halves->second.second, found);
    }
  }

  const SentencePieceModel& model_;
  const Pieces& pieces_;
  std::vector<Symbol> symbols_;
  std::priority_queue<Merge> merges_;
  std::unordered_map<std::string_view, std::pair<std::string_view, std::string_view>> halves_;
};

class BpeEncoder final : public PieceEncoder {
 public:
  explicit BpeEncoder(const SentencePieceModel& model) : model_(model) {
    for (size_t i = 0; i < model.pieces.size(); ++i) {
      if (model.is_text(model.pieces[i])) pieces_[model.pieces[i].text] = static_cast<int32_t>(i);
    }
  }

  std::vector<FoundPiece> encode(std::string_view normalized) const override {
    return Merger(model_, pieces_, normalized).run();
  }

 private:
  const SentencePieceModel& model_;
  Pieces pieces_;
};

}  // namespace

std::unique_ptr<PieceEncoder> bpe_encoder(const SentencePieceModel& model) {
  return std::make_unique<BpeEncoder>(model);
}

}  // namespace lact::data
