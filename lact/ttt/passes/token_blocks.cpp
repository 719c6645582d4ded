#include "lact/ttt/passes/token_blocks.h"

namespace lact::ttt::fused {

void PackedMatrix::pack(const at::Tensor& matrices, kernels::Packing packing) {
  const int64_t heads = matrices.size(0), out = matrices.size(1), in = matrices.size(2);
  in_words_ = kernels::words_for(packing, in), out_words_ = kernels::words_for(packing, out);
  transposed_size_ = kernels::panel_form_words(packing, in, out);
  plain_size_ = kernels::panel_form_words(packing, out, in);
  transposed_ = transposed_memory_.words(heads * transposed_size_);
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
                                    transposed_ + head * transposed_size_ + first * in_words_, 0);
    } else {
      const int64_t first = (panel - panels_of(out)) * kPanel;
      kernel.pack_panels(packing, {from + first, in}, out, std::min(kPanel, in - first),
                         plain_ + head * plain_size_ + first * out_words_, 0);
    }
  });
}

void PackedTokens::pack(WorkList& work, const HeadTokens& tokens, Range heads, Range block,
                        kernels::Packing packing, Needs needs) {
  const int64_t width = tokens.width(), count = block.size();
  const int64_t per_word = packing == kernels::Packing::pairs ? 2 : 1;
  const int64_t rows = kernels::round_up_to(count, kernels::kTileUnit);
  words_ = kernels::words_for(packing, width);
  slab_stride_ = rows * kPanel / per_word;
  panel_stride_ = kernels::words_for(packing, rows) * kPanel;
  slabs_size_ = panels_of(width) * slab_stride_;
  panels_size_ = panels_of(width) * panel_stride_;
  // Where a word is one number, slabs are panels.
  const bool shared = per_word == 1 && needs.scale == nullptr;
  const bool slabs = needs.slabs || (shared && needs.panels), panels = needs.panels && !shared;
  slabs_ = slabs ? slabs_memory_.words(heads.size() * slabs_size_) : nullptr;
  panels_ = panels ? panels_memory_.words(heads.size() * panels_size_) : nullptr;
  const auto& kernel = kernels::fast_weight_kernels();
  const int64_t slices = slices_of(count);
  work.add(heads.size() * slices, [=, this, &kernel, &tokens](int64_t item, int64_t) {
    const int64_t head = item / slices, first = item % slices * kSlice;
    const int64_t token = block.begin + first, size = std::min(kSlice, count - first);
    const auto from = tokens.rows(heads.begin + head, token);
    if (slabs) {
      kernel.pack_slabs(packing, from, size, width, slabs_ + head * slabs_size_ + first * kPanel / per_word,
                        slab_stride_);
    }
    if (panels) {
      const float* scale = needs.scale == nullptr ? nullptr
                                                  : needs.scale->data_ptr<float>() +
                                                        (heads.begin + head) * needs.scale->size(1) + token;
      kernel.pack_panels(packing, from, size, width,
                         panels_ + head * panels_size_ + first / per_word * kPanel, panel_stride_, scale);
    }
  });
  if (shared) panels_ = slabs_;
}

kernels::TokenForms PackedTokens::forms(int64_t head) const {
  return {slabs_ == nullptr ? nullptr : slabs_ + head * slabs_size_,
          panels_ == nullptr ? nullptr : panels_ + head * panels_size_, words_, slab_stride_, panel_stride_};
}

void HiddenSlabs::make(int64_t kinds, int64_t heads, int64_t panels, int64_t tokens,
                       kernels::Packing packing) {
  heads_ = heads, panels_ = panels;
  stride_ = kernels::words_for(packing, kernels::round_up_to(tokens, kernels::kTileUnit) * kPanel);
  words_ = memory_.words(kinds * heads * panels * stride_);
}

PaddedSums::PaddedSums(const at::Tensor& target, bool transposed)
    : target_(target),
      transposed_(transposed),
      rows_(kernels::round_up_to(target.size(transposed ? 2 : 1), kPanel)),
      columns_(kernels::round_up_to(target.size(transposed ? 1 : 2), kPanel)) {
  const bool in_place =
      !transposed && rows_ == target.size(1) && columns_ == target.size(2) && target.is_contiguous();
  if (!in_place) beside_ = at::zeros({target.size(0), rows_, columns_}, target.options());
  numbers_ = (in_place ? target_ : beside_).data_ptr<float>();
}

PaddedSums::~PaddedSums() {
  if (!beside_.defined()) return;
  const at::Tensor sums = transposed_ ? beside_.transpose(1, 2) : beside_;
  target_.add_(sums.narrow(1, 0, target_.size(1)).narrow(2, 0, target_.size(2)));
}

}  // namespace lact::ttt::fused
