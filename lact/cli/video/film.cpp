#include "lact/cli/video/film.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>

#include "lact/base/memory_use.h"
#include "lact/io/frame_output.h"
#include "lact/io/picture_sheet.h"
#include "lact/models/video/state_file.h"

namespace lact::cli {

namespace {

/// Sizes of the frames to come. All are alike, so that an output need not be told of more than two.
std::vector<io::ImageSize> film_frames(const tasks::video::Loaded& video, int64_t chunks,
                                       bool from_the_start) {
  const models::VideoConfig& config = video.model->config();
  const int64_t latent = chunks * config.chunk_frames, side = video.codec->spatial();
  const int64_t frames =
      from_the_start ? video.codec->pixel_frames(latent) : latent * video.codec->temporal();
  return std::vector<io::ImageSize>(size_t(std::min<int64_t>(frames, 2)),
                                    {config.latent_height * side, config.latent_width * side});
}

/// [1, 3, frames, H, W] in [-1, 1]
void write_frames(io::FrameOutput& output, const at::Tensor& pixels) {
  for (const at::Tensor& frame : pixels[0].unbind(1)) output.write(io::to_bytes((frame + 1) / 2));
}

}  // namespace

Film make_film(const tasks::video::Loaded& video, models::VideoSampling sampling,
               models::CodecStream& decoder, const FilmOrder& order, const FilmSettings& settings) {
  at::NoGradGuard no_grad;
  const auto start = std::chrono::steady_clock::now();
  const auto frames = film_frames(video, settings.chunks, sampling.chunks() == 0);
  const at::Tensor text = video.text->encode({sampling.prompt});
  const at::Tensor negative = sampling.with_negative ? video.text->encode({sampling.negative}) : at::Tensor();
  models::VideoSampler sampler(video.model, std::move(sampling), text, negative);
  io::FrameOutput output(order.output, frames, settings.fps);
  Film film;
  film.height = frames.front().height;
  film.width = frames.front().width;
  while (film.chunks < settings.chunks) {
    const auto chunk = sampler.next_chunk([&](int64_t steps) {
      settings.on_step(film.chunks, steps);
      return !settings.stop();
    });
    if (!chunk) break;
    const at::Tensor pixels = decoder.push(*chunk);
    write_frames(output, pixels);
    film.frames += pixels.size(2);
    film.resident_bytes.push_back(resident_bytes());
    ++film.chunks;
  }
  film.stopped = film.chunks < settings.chunks;
  if (film.chunks > 0) {
    output.finish();
    if (!order.state.empty())
      models::save_sampling(order.state, sampler.sampling(), &decoder, video.fingerprint);
  }
  film.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return film;
}

}  // namespace lact::cli
