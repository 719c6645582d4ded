#include "lact/mixers/token_buffer.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include <cstring>
#include <optional>

namespace lact {

namespace {

/// Where tokens lie in their memory: token 0 of the tensor is number `first` of `capacity`.
struct Place {
  int64_t first, capacity;
};

/// The place of tokens that may be written behind: they lie in a block of shape [before, capacity, after]
/// that fills its memory, no other tensor shares it, and it came from LibTorch's allocator.
std::optional<Place> own_place(const at::Tensor& tokens, int64_t dim) {
  if (tokens.use_count() != 1 || !tokens.has_storage() || tokens.requires_grad()) return std::nullopt;
  const c10::Storage& storage = tokens.storage();
  if (storage.use_count() != 1 || !storage.resizable()) return std::nullopt;
  int64_t before = 1, after = 1;
  for (int64_t i = 0; i < dim; ++i) before *= tokens.size(i);
  for (int64_t i = tokens.dim() - 1; i > dim; --i) {
    if (tokens.stride(i) != after) return std::nullopt;
    after *= tokens.size(i);
  }
  const int64_t row = before * after, numbers = int64_t(storage.nbytes() / tokens.element_size());
  if (row == 0 || tokens.stride(dim) != after || numbers % row != 0) return std::nullopt;
  const Place place = {tokens.storage_offset() / after, numbers / row};
  int64_t stride = place.capacity * after;
  for (int64_t i = dim - 1; i >= 0; --i) {
    if (tokens.stride(i) != stride) return std::nullopt;
    stride *= tokens.size(i);
  }
  if (tokens.storage_offset() % after != 0 || place.first + tokens.size(dim) > place.capacity) {
    return std::nullopt;
  }
  return place;
}

/// `count` tokens of the same memory, from number `first` on.
at::Tensor show(const at::Tensor& tokens, int64_t dim, int64_t first, int64_t count) {
  auto sizes = tokens.sizes().vec();
  sizes[size_t(dim)] = count;
  return tokens.as_strided(sizes, tokens.strides(), first * tokens.stride(dim));
}

/// Whether what lies behind `dim` is one stretch of memory.
bool has_dense_rows(const at::Tensor& tokens, int64_t dim) {
  int64_t after = 1;
  for (int64_t i = tokens.dim() - 1; i > dim; --i) {
    if (tokens.size(i) != 1 && tokens.stride(i) != after) return false;
    after *= tokens.size(i);
  }
  return true;
}

/// Dense rows of `row_bytes`, over all dimensions from i to dim.
void copy_rows(const at::Tensor& from, const at::Tensor& to, int64_t i, int64_t dim, const char* source,
               char* target, size_t row_bytes) {
  if (i > dim) {
    std::memcpy(target, source, row_bytes);
    return;
  }
  const int64_t size = int64_t(from.element_size());
  for (int64_t k = 0; k < from.size(i); ++k) {
    copy_rows(from, to, i + 1, dim, source + k * from.stride(i) * size, target + k * to.stride(i) * size,
              row_bytes);
  }
}

/// to.copy_(from), of which a few tokens would be mostly preparation.
void copy_tokens(const at::Tensor& from, const at::Tensor& to, int64_t dim) {
  constexpr int64_t kFew = 8;
  if (from.size(dim) > kFew || !from.is_cpu() || !has_dense_rows(from, dim)) {
    to.copy_(from);
    return;
  }
  int64_t rows = 1;
  for (int64_t i = 0; i <= dim; ++i) rows *= from.size(i);
  copy_rows(from, to, 0, dim, static_cast<const char*>(from.data_ptr()), static_cast<char*>(to.data_ptr()),
            size_t(from.numel() / rows * int64_t(from.element_size())));
}

at::Tensor with_room(const at::Tensor& kept, const at::Tensor& fresh, int64_t dim) {
  const int64_t old = kept.size(dim), added = fresh.size(dim);
  auto sizes = fresh.sizes().vec();
  sizes[size_t(dim)] = old + added + kTokenRoom;
  at::Tensor all = at::empty(sizes, fresh.options());
  all.narrow(dim, 0, old).copy_(kept);
  all.narrow(dim, old, added).copy_(fresh);
  return all.narrow(dim, 0, old + added);
}

}  // namespace

const at::Tensor& append_tokens(at::Tensor& kept, const at::Tensor& fresh, int64_t dim) {
  const int64_t old = kept.size(dim), added = fresh.size(dim);
  if (old == 0) return kept = fresh;
  if (at::GradMode::is_enabled()) return kept = at::cat({kept.to(fresh.options()), fresh}, dim);
  // Views that autograd follows would hold the memory too.
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const bool alike = kept.scalar_type() == fresh.scalar_type() && kept.device() == fresh.device();
  const auto place = alike ? own_place(kept, dim) : std::nullopt;
  if (place && place->first + old + added <= place->capacity) {
    copy_tokens(fresh, show(kept, dim, place->first + old, added), dim);
    kept = show(kept, dim, place->first, old + added);
  } else if (place && place->first >= old && old + added <= place->capacity) {
    // What was dropped left enough room at the front.
    show(kept, dim, 0, old).copy_(kept);
    show(kept, dim, old, added).copy_(fresh);
    kept = show(kept, dim, 0, old + added);
  } else {
    kept = with_room(kept, fresh, dim);
  }
  return kept;
}

namespace {

/// Keeps `count` tokens from number `first` on; without a token left the memory is free.
void keep_tokens(at::Tensor& kept, int64_t first, int64_t count, int64_t dim) {
  if (count == kept.size(dim)) return;
  if (count == 0) {
    auto none = kept.sizes().vec();
    none[size_t(dim)] = 0;
    kept = at::empty(none, kept.options());
    return;
  }
  if (at::GradMode::is_enabled()) {
    kept = kept.narrow(dim, first, count);
    return;
  }
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  kept = kept.narrow(dim, first, count);
}

}  // namespace

void drop_tokens(at::Tensor& kept, int64_t count, int64_t dim) {
  keep_tokens(kept, count, kept.size(dim) - count, dim);
}

void drop_last_tokens(at::Tensor& kept, int64_t count, int64_t dim) {
  keep_tokens(kept, 0, kept.size(dim) - count, dim);
}

}  // namespace lact
