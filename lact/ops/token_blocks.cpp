#include "lact/ops/token_blocks.h"

namespace lact::ops::fused {

void PackedMatrix::pack(const at::Tensor& matrices, kernels::Packing packing) {
  const int64_t heads = matrices.size(0), out = matrices.size(1), in = matrices.size(2);
  in_words_ = kernels::words_for(packing, in), out_words_ = kernels::words_for(packing, out);
  turned_size_ = kernels::panel_form_words(packing, in, out);
  plain_size_ = kernels::panel_form_words(packing, out, in);
  turned_ = turned_memory_.words(heads * turned_size_);
  plain_ = plain_memory_.words(heads * plain_size_);
  const float* numbers = matrices.data_ptr<float>();
  const auto& kernel = kernels::products_kernels();
  const int64_t panels = panels_of(out) + panels_of(in);
  for_each_item(heads * panels, [&](int64_t item, int64_t) {
    const int64_t head = item / panels, panel = item % panels;
    const float* from = numbers + head * out * in;
    if (panel < panels_of(out)) {
      const int64_t first = panel * kPanel;
      kernel.pack_panels_transposed(packing, {from + first * in, in}, in, std::min(kPanel, out - first),
                                    turned_ + head * turned_size_ + first * in_words_, 0);
    } else {
      const int64_t first = (panel - panels_of(out)) * kPanel;
      kernel.pack_panels(packing, {from + first, in}, out, std::min(kPanel, in - first),
                         plain_ + head * plain_size_ + first * out_words_, 0);
    }
  });
}

void PackedTokens::pack(const HeadTokens& tokens, Range heads, Range block, kernels::Packing packing,
                        Needs needs) {
  const int64_t width = tokens.width(), count = block.size();
  const int64_t per_word = packing == kernels::Packing::pairs ? 2 : 1;
  words_ = kernels::words_for(packing, width);
  panel_stride_ = kernels::words_for(packing, count) * kPanel;
  tiles_size_ = kernels::tile_form_words(packing, count, width);
  panels_size_ = panels_of(width) * panel_stride_;
  tiles_ = needs.tiles ? tiles_memory_.words(heads.size() * tiles_size_) : nullptr;
  panels_ = needs.panels ? panels_memory_.words(heads.size() * panels_size_) : nullptr;
  const auto& kernel = kernels::fast_weight_kernels();
  const int64_t slices = slices_of(count);
  for_each_item(heads.size() * slices, [&](int64_t item, int64_t) {
    const int64_t head = item / slices, first = item % slices * kSlice;
    const int64_t token = block.begin + first;
    const float* scale = needs.scale == nullptr ? nullptr
                                                : needs.scale->data_ptr<float>() +
                                                      (heads.begin + head) * needs.scale->size(1) + token;
    kernel.pack_tokens(packing, tokens.rows(heads.begin + head, token), std::min(kSlice, count - first),
                       width, needs.tiles ? tiles_ + head * tiles_size_ + first * words_ : nullptr,
                       needs.panels ? panels_ + head * panels_size_ + first / per_word * kPanel : nullptr,
                       panel_stride_, scale);
  });
}

kernels::TokenForms PackedTokens::forms(int64_t head) const {
  return {tiles_ == nullptr ? nullptr : tiles_ + head * tiles_size_,
          panels_ == nullptr ? nullptr : panels_ + head * panels_size_, words_, panel_stride_};
}

PaddedSums::PaddedSums(const at::Tensor& target)
    : target_(target),
      rows_(kernels::round_up_to(target.size(1), kPanel)),
      columns_(kernels::round_up_to(target.size(2), kPanel)) {
  const bool whole = rows_ == target.size(1) && columns_ == target.size(2) && target.is_contiguous();
  if (!whole) padded_ = at::zeros({target.size(0), rows_, columns_}, target.options());
  numbers_ = (whole ? target_ : padded_).data_ptr<float>();
}

PaddedSums::~PaddedSums() {
  if (padded_.defined()) target_.add_(padded_.narrow(1, 0, target_.size(1)).narrow(2, 0, target_.size(2)));
}

}  // namespace lact::ops::fused
