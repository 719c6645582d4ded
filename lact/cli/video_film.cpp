#include "lact/cli/video_film.h"

#include <ATen/ATen.h>

#include <chrono>

#include "lact/base/memory_use.h"
#include "lact/io/frame_output.h"
#include "lact/io/picture_sheet.h"
#include "lact/models/video/state_file.h"

namespace lact::cli {

namespace {

/// The first latent frame of a video is one frame, every other makes `temporal` frames.
size_t frames_of_chunks(const LoadedVideo& video, int64_t chunks, bool from_the_start) {
  const int64_t latent = chunks * video.model->config().chunk_frames;
  return size_t(from_the_start ? video.codec->pixel_frames(latent) : latent * video.codec->temporal());
}

/// [1, 3, frames, H, W] in [-1, 1]
void write_frames(io::FrameOutput& output, const at::Tensor& pixels) {
  for (const at::Tensor& frame : pixels[0].unbind(1)) output.write(io::to_bytes((frame + 1) / 2));
}

}  // namespace

Film make_film(const LoadedVideo& video, models::VideoSampling sampling, models::CodecStream& decoder,
               const FilmOrder& order, const FilmSettings& settings) {
  at::NoGradGuard no_grad;
  const auto start = std::chrono::steady_clock::now();
  Film film;
  film.height = video.model->config().latent_height * video.codec->spatial();
  film.width = video.model->config().latent_width * video.codec->spatial();
  const std::vector<io::ImageSize> sizes(frames_of_chunks(video, settings.chunks, sampling.chunks() == 0),
                                         {film.height, film.width});
  io::FrameOutput output(order.output, sizes, settings.fps);
  const at::Tensor text = video.text->encode({sampling.prompt});
  const at::Tensor negative = sampling.with_negative ? video.text->encode({sampling.negative}) : at::Tensor();
  models::VideoSampler sampler(video.model, std::move(sampling), text, negative);
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
