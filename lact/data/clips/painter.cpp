#include "lact/data/clips/painter.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "lact/base/error.h"

namespace lact::data::stories {

namespace {

/// Three planes of numbers in [0, 1]; rows and columns of the world from (top, left) on.
struct Canvas {
  Canvas(int64_t canvas_height, int64_t canvas_width)
      : height(canvas_height), width(canvas_width), values(size_t(3 * canvas_height * canvas_width)) {}

  float* plane(int64_t channel) { return values.data() + channel * height * width; }
  const float* plane(int64_t channel) const { return values.data() + channel * height * width; }

  int64_t height, width;
  int64_t top = 0, left = 0;
  std::vector<float> values;
};

/// Calls `visit(pixel, share)` for pixels that the thing covers, with its centre at (x, y) of the canvas.
template <class Visit>
void for_covered(const Stamp& stamp, float x, float y, int64_t height, int64_t width, const Visit& visit) {
  const float reach = stamp.radius() + 1;
  const auto first = [](float value) { return std::max<int64_t>(0, int64_t(std::floor(value))); };
  const int64_t bottom = std::min(height, int64_t(std::ceil(y + reach)));
  const int64_t right = std::min(width, int64_t(std::ceil(x + reach)));
  for (int64_t row = first(y - reach); row < bottom; ++row) {
    const float from_y = float(row) + 0.5F - y;
    for (int64_t column = first(x - reach); column < right; ++column) {
      const float from_x = float(column) + 0.5F - x;
      const float share = stamp.coverage(from_x, from_y);
      if (share > 0) visit(row * width + column, share, from_x, from_y);
    }
  }
}

void blend(Canvas& canvas, int64_t pixel, float share, const Colour& colour) {
  const int64_t plane = canvas.height * canvas.width;
  float* value = canvas.values.data() + pixel;
  value[0] += share * (colour.red - value[0]);
  value[plane] += share * (colour.green - value[plane]);
  value[2 * plane] += share * (colour.blue - value[2 * plane]);
}

/// Soft patches between the two tones: random values on a coarse grid of the world, smoothly joined.
class Patches {
 public:
  Patches(uint64_t seed, float cell) : seed_(seed), cell_(cell) {}

  float at(float x, float y) const {
    const float grid_x = x / cell_, grid_y = y / cell_;
    const float column = std::floor(grid_x), row = std::floor(grid_y);
    const float part_x = smooth(grid_x - column), part_y = smooth(grid_y - row);
    const float upper = mixed(node(row, column), node(row, column + 1), part_x);
    const float lower = mixed(node(row + 1, column), node(row + 1, column + 1), part_x);
    return mixed(upper, lower, part_y);
  }

 private:
  static float smooth(float part) { return part * part * (3 - 2 * part); }
  static float mixed(float one, float other, float part) { return one + part * (other - one); }
  float node(float row, float column) const {
    const uint64_t bits =
        mix(mix(seed_, static_cast<uint64_t>(int64_t(row))), static_cast<uint64_t>(int64_t(column)));
    return static_cast<float>(bits >> 40) * 0x1p-24F;
  }

  uint64_t seed_;
  float cell_;
};

/// All of the world that the camera sees in the story.
Canvas paint_backdrop(const Story& story) {
  const auto [frames, height, width] = story.options.shape();
  float least_x = 0, most_x = 0, least_y = 0, most_y = 0;
  for (int64_t frame = 0; frame < frames; ++frame) {
    const Point at = story.camera.at(frame);
    least_x = std::min(least_x, at.x), most_x = std::max(most_x, at.x);
    least_y = std::min(least_y, at.y), most_y = std::max(most_y, at.y);
  }
  const auto top = int64_t(std::floor(least_y)), left = int64_t(std::floor(least_x));
  // One pixel more to the right and below, which a camera between two pixels mixes in.
  Canvas canvas(height + int64_t(std::ceil(most_y)) - top + 1, width + int64_t(std::ceil(most_x)) - left + 1);
  canvas.top = top, canvas.left = left;
  const Backdrop& backdrop = story.backdrop;
  const Colour &base = backdrop.base.colour, &tone = backdrop.tone;
  const Patches patches(backdrop.seed, 0.4F * float(std::min(height, width)));
  for (int64_t row = 0; row < canvas.height; ++row)
    for (int64_t column = 0; column < canvas.width; ++column) {
      const float share = patches.at(float(left + column), float(top + row));
      const int64_t pixel = row * canvas.width + column;
      canvas.plane(0)[pixel] = base.red + share * (tone.red - base.red);
      canvas.plane(1)[pixel] = base.green + share * (tone.green - base.green);
      canvas.plane(2)[pixel] = base.blue + share * (tone.blue - base.blue);
    }
  for (const Landmark& landmark : backdrop.landmarks) {
    const Stamp stamp(landmark.look);
    for_covered(stamp, landmark.centre.x - float(left), landmark.centre.y - float(top), canvas.height,
                canvas.width, [&](int64_t pixel, float share, float x, float y) {
                  blend(canvas, pixel, share, stamp.colour(x, y));
                });
  }
  return canvas;
}

/// The part of the world that the camera sees.
void show_backdrop(Canvas& picture, const Canvas& world, const Point& camera) {
  const float from_left = camera.x - float(world.left), from_top = camera.y - float(world.top);
  const auto left = int64_t(std::floor(from_left)), top = int64_t(std::floor(from_top));
  const float part_x = from_left - float(left), part_y = from_top - float(top);
  for (int64_t channel = 0; channel < 3; ++channel)
    for (int64_t row = 0; row < picture.height; ++row) {
      const float* upper = world.plane(channel) + (top + row) * world.width + left;
      const float* lower = upper + world.width;
      float* values = picture.plane(channel) + row * picture.width;
      for (int64_t column = 0; column < picture.width; ++column) {
        const float above = upper[column] + part_x * (upper[column + 1] - upper[column]);
        const float below = lower[column] + part_x * (lower[column + 1] - lower[column]);
        values[column] = above + part_y * (below - above);
      }
    }
}

class Painter {
 public:
  explicit Painter(const Story& story)
      : story_(story), world_(paint_backdrop(story)), picture_(story.options.height, story.options.width) {
    for (const Thing& thing : story.things) stamps_.emplace_back(thing.look);
  }

  /// `visible`, where it is wanted, is of the first thing; those of the others are `stride` apart.
  void paint(int64_t frame, uint8_t* pixels, uint8_t* visible, int64_t stride) {
    const Point camera = story_.camera.at(frame);
    show_backdrop(picture_, world_, camera);
    for (size_t i = 0; i < stamps_.size(); ++i) {
      const Point at = story_.things[i].track.at(frame);
      paint_thing(stamps_[i], at.x - camera.x, at.y - camera.y, visible, int64_t(i), stride);
    }
    if (story_.pillar) paint_pillar(story_.pillar->centre - camera.x, visible, stride);
    for (size_t i = 0; i < picture_.values.size(); ++i)
      pixels[i] = static_cast<uint8_t>(picture_.values[i] * 255 + 0.5F);
  }

 private:
  static void dim(uint8_t& visible, float share) {
    if (visible > 0) visible = static_cast<uint8_t>(float(visible) * (1 - share) + 0.5F);
  }

  void paint_thing(const Stamp& stamp, float x, float y, uint8_t* visible, int64_t index, int64_t stride) {
    for_covered(stamp, x, y, picture_.height, picture_.width,
                [&](int64_t pixel, float share, float from_x, float from_y) {
                  blend(picture_, pixel, share, stamp.colour(from_x, from_y));
                  if (visible == nullptr) return;
                  for (int64_t i = 0; i < index; ++i) dim(visible[i * stride + pixel], share);
                  visible[index * stride + pixel] = static_cast<uint8_t>(share * 255 + 0.5F);
                });
  }

  void paint_pillar(float centre, uint8_t* visible, int64_t stride) {
    const Pillar& pillar = *story_.pillar;
    const float half = pillar.width / 2;
    for (int64_t column = 0; column < picture_.width; ++column) {
      const float inside = half - std::fabs(float(column) + 0.5F - centre);
      const float share = std::clamp(0.5F + inside, 0.0F, 1.0F);
      if (share == 0) continue;
      // Rounder than a wall: darker towards its edges.
      const float light = 0.75F + 0.25F * std::clamp(inside / half, 0.0F, 1.0F);
      const Colour colour = {pillar.colour.red * light, pillar.colour.green * light,
                             pillar.colour.blue * light};
      for (int64_t row = 0; row < picture_.height; ++row) {
        const int64_t pixel = row * picture_.width + column;
        blend(picture_, pixel, share, colour);
        if (visible == nullptr) continue;
        for (size_t i = 0; i < stamps_.size(); ++i) dim(visible[int64_t(i) * stride + pixel], share);
      }
    }
  }

  const Story& story_;
  const Canvas world_;
  Canvas picture_;
  std::vector<Stamp> stamps_;
};

void paint_frames(const Story& story, const at::Tensor& frames, const at::Tensor& visible) {
  Painter painter(story);
  const auto [num_frames, height, width] = story.options.shape();
  auto* pixels = frames.data_ptr<uint8_t>();
  uint8_t* shares = visible.defined() ? visible.data_ptr<uint8_t>() : nullptr;
  for (int64_t frame = 0; frame < num_frames; ++frame) {
    painter.paint(frame, pixels + frame * 3 * height * width,
                  shares == nullptr ? nullptr : shares + frame * height * width, num_frames * height * width);
  }
}

}  // namespace

at::Tensor paint(const Story& story) {
  const auto [frames, height, width] = story.options.shape();
  at::Tensor pixels = at::empty({frames, 3, height, width}, at::kByte);
  paint_frames(story, pixels, {});
  return pixels;
}

Painting paint_with_truth(const Story& story) {
  const auto [frames, height, width] = story.options.shape();
  Painting painting;
  painting.frames = at::empty({frames, 3, height, width}, at::kByte);
  painting.visible = at::zeros({int64_t(story.things.size()), frames, height, width}, at::kByte);
  paint_frames(story, painting.frames, painting.visible);
  return painting;
}

}  // namespace lact::data::stories
