#include "lact/ops/tokens/pieces.h"

#include <ATen/ATen.h>
#include <torch/autograd.h>

namespace lact::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Pieces : torch::CustomClassHolder {
  explicit Pieces(std::vector<TokenPiece> list) : list(std::move(list)) {}
  std::vector<TokenPiece> list;
};

std::vector<int64_t> shape_with(const at::Tensor& x, int64_t rows) {
  std::vector<int64_t> shape = x.sizes().vec();
  shape[0] = rows;
  return shape;
}

struct JoinPieces : torch::autograd::Function<JoinPieces> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& first, const at::Tensor& second,
                            const c10::intrusive_ptr<Pieces>& pieces) {
    context->saved_data["pieces"] = c10::IValue::make_capsule(pieces);
    context->saved_data["rows"] = std::vector<int64_t>{first.size(0), second.size(0)};
    int64_t count = 0;
    for (const auto& piece : pieces->list) count += piece.rows.size();
    const at::Tensor joined = at::empty(shape_with(first, count), first.options());
    int64_t next = 0;
    for (const auto& [source, rows] : pieces->list) {
      const at::Tensor& from = source == TokenPiece::kFirst ? first : second;
      joined.narrow(0, next, rows.size()).copy_(from.narrow(0, rows.begin, rows.size()));
      next += rows.size();
    }
    return joined;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto pieces = c10::static_intrusive_pointer_cast<Pieces>(context->saved_data["pieces"].toCapsule());
    const auto rows = context->saved_data["rows"].toIntVector();
    const at::Tensor& gradient = gradients[0];
    const at::Tensor first = at::zeros(shape_with(gradient, rows[0]), gradient.options()),
                     second = at::zeros(shape_with(gradient, rows[1]), gradient.options());
    int64_t next = 0;
    for (const auto& [source, taken] : pieces->list) {
      const at::Tensor& to = source == TokenPiece::kFirst ? first : second;
      to.narrow(0, taken.begin, taken.size()).add_(gradient.narrow(0, next, taken.size()));
      next += taken.size();
    }
    return {first, second, {}};
  }
};

}  // namespace

at::Tensor join_pieces(const at::Tensor& first, const at::Tensor& second,
                       const std::vector<TokenPiece>& pieces) {
  return JoinPieces::apply(first, second, c10::make_intrusive<Pieces>(pieces));
}

at::Tensor take_ranges(const at::Tensor& x, const std::vector<Range>& ranges) {
  std::vector<TokenPiece> pieces;
  for (const auto& range : ranges) pieces.push_back({TokenPiece::kFirst, range});
  return join_pieces(x, at::empty(shape_with(x, 0), x.options()), pieces);
}

}  // namespace lact::ops
