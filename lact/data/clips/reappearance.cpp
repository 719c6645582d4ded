#include "lact/data/clips/reappearance.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "lact/base/error.h"

namespace lact::data {

namespace {

void check_visible(const at::Tensor& visible, const StoryOptions& options) {
  const auto [frames, height, width] = options.shape();
  LACT_CHECK(visible.scalar_type() == at::kByte && visible.dim() == 4 && visible.size(1) == frames &&
                 visible.size(2) == height && visible.size(3) == width,
             "[reappearance] the truth has shape {}, expected bytes [things, {}, {}, {}]",
             visible.sizes().vec(), frames, height, width);
}

/// bool [things, F]
at::Tensor seen_frames(const at::Tensor& visible) { return visible.flatten(2).gt(0).any(2).contiguous(); }

/// Whole chunks in frames [gone, back).
int64_t whole_chunks(const StoryOptions& options, int64_t gone, int64_t back) {
  int64_t first = options.chunk_of(gone);
  if (options.chunk_begin(first) < gone) ++first;
  return std::max<int64_t>(0, options.chunk_of(back) - first);
}

}  // namespace

std::vector<Reappearance> find_reappearances(const at::Tensor& visible, const StoryOptions& options) {
  check_visible(visible, options);
  const at::Tensor seen = seen_frames(visible);
  std::vector<Reappearance> found;
  for (int64_t thing = 0; thing < visible.size(0); ++thing) {
    const bool* shown = seen[thing].data_ptr<bool>();
    int64_t last_seen = -1;
    for (int64_t frame = 0; frame < visible.size(1); ++frame) {
      if (!shown[frame]) continue;
      const int64_t gap = whole_chunks(options, last_seen + 1, frame);
      if (last_seen >= 0 && gap >= 1) found.push_back({thing, last_seen + 1, frame, gap});
      last_seen = frame;
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Reappearance& a, const Reappearance& b) { return a.back < b.back; });
  return found;
}

VisibleBox visible_box(const at::Tensor& visible, int64_t frame) {
  LACT_CHECK(visible.dim() == 3 && frame >= 0 && frame < visible.size(0),
             "[visible_box] frame {} of a truth of shape {} is asked for, expected [F, H, W]", frame,
             visible.sizes().vec());
  const at::Tensor places = visible[frame].gt(0).nonzero();
  if (places.size(0) == 0) return {};
  const auto least = std::get<0>(places.min(0)), most = std::get<0>(places.max(0));
  return {least[0].item<int64_t>(), least[1].item<int64_t>(), most[0].item<int64_t>() + 1,
          most[1].item<int64_t>() + 1};
}

ReappearanceRegions reappearance_regions(const at::Tensor& visible, const StoryOptions& options) {
  const auto found = find_reappearances(visible, options);
  const at::Tensor shares = visible.to(at::kFloat).div_(255);
  const at::Tensor seen = seen_frames(visible);
  const auto nothing = [&] { return at::zeros(visible.sizes().slice(1), at::kFloat); };
  ReappearanceRegions regions{nothing(), nothing(), nothing(), {}};
  for (const Reappearance& event : found) {
    if (event.gap < options.gap_min) continue;
    const int64_t end = options.chunk_begin(options.chunk_of(event.back) + 1);
    auto& of_gap = regions.by_gap.try_emplace(event.gap, nothing()).first->second;
    for (const at::Tensor& region : {regions.returning, of_gap})
      region.slice(0, event.back, end).add_(shares[event.thing].slice(0, event.back, end));
    regions.elsewhere.slice(0, event.back, end).fill_(1);
  }
  for (int64_t thing = 0; thing < visible.size(0); ++thing) {
    for (int64_t chunk = 1; chunk < options.chunks; ++chunk) {
      const int64_t before = options.chunk_begin(chunk - 1), begin = options.chunk_begin(chunk);
      const int64_t end = options.chunk_begin(chunk + 1);
      if (!seen[thing].slice(0, before, begin).any().item<bool>()) continue;
      regions.known.slice(0, begin, end).add_(shares[thing].slice(0, begin, end));
    }
  }
  regions.elsewhere.mul_(1 - regions.returning).clamp_(0, 1);
  return regions;
}

at::Tensor latent_shares(const at::Tensor& shares, int64_t frames, int64_t rows, int64_t columns) {
  const int64_t all = shares.size(0);
  at::Tensor grouped = shares;
  if (frames != all) {
    const bool first_alone = frames > 1 && all % frames != 0 && (all - 1) % (frames - 1) == 0;
    LACT_CHECK(first_alone || (frames >= 1 && all % frames == 0),
               "[latent_shares] {} frames cannot become {} latent frames", all, frames);
    if (first_alone) {
      const at::Tensor rest = shares.slice(0, 1).unflatten(0, {frames - 1, (all - 1) / (frames - 1)});
      grouped = at::cat({shares.slice(0, 0, 1), rest.mean(1)});
    } else {
      grouped = shares.unflatten(0, {frames, all / frames}).mean(1);
    }
  }
  return at::adaptive_avg_pool2d(grouped.unsqueeze(1), {rows, columns}).squeeze(1);
}

void ReappearanceScore::Sum::add(const at::Tensor& squares, const at::Tensor& shares) {
  error += (squares * shares).sum(at::kDouble).item<double>();
  weight += shares.sum(at::kDouble).item<double>();
}

void ReappearanceScore::add(const ReappearanceRegions& regions, const at::Tensor& truth,
                            const at::Tensor& found) {
  LACT_CHECK(truth.dim() == 4 && truth.sizes() == found.sizes(),
             "[reappearance] the clips have shapes {} and {}, expected the same [channels, F, H, W]",
             truth.sizes().vec(), found.sizes().vec());
  const at::Tensor squares = (found.to(at::kFloat) - truth.to(at::kFloat)).square().mean(0);
  const auto sized = [&](const at::Tensor& shares) {
    if (shares.sizes() == squares.sizes()) return shares;
    return latent_shares(shares, squares.size(0), squares.size(1), squares.size(2));
  };
  returning_.add(squares, sized(regions.returning));
  known_.add(squares, sized(regions.known));
  elsewhere_.add(squares, sized(regions.elsewhere));
  for (const auto& [gap, shares] : regions.by_gap) by_gap_[gap].add(squares, sized(shares));
}

std::map<int64_t, double> ReappearanceScore::by_gap() const {
  std::map<int64_t, double> means;
  for (const auto& [gap, sum] : by_gap_) means[gap] = sum.mean();
  return means;
}

}  // namespace lact::data
