#include "lact/tasks/video/session.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>

#include "lact/base/error.h"
#include "lact/base/memory_use.h"
#include "lact/io/frame_output.h"
#include "lact/io/picture_sheet.h"
#include "lact/models/video/state_file.h"

namespace lact::tasks::video {

namespace {

models::VideoSampling load_state(const Loaded& video, models::CodecStream& decoder, const std::string& file) {
  const models::VideoConfig& config = video.model->config();
  decoder.prepare(1, config.latent_height, config.latent_width);
  return models::load_sampling(file, *video.model, &decoder, video.fingerprint);
}

/// [1, 3, frames, H, W] in [-1, 1]
void write_frames(io::FrameOutput& output, const at::Tensor& pixels) {
  for (const at::Tensor& frame : pixels[0].unbind(1)) output.write(io::to_bytes((frame + 1) / 2));
}

}  // namespace

Session::Session(Loaded video, const models::SampleOptions& options, int64_t seed)
    : video_(std::move(video)),
      decoder_(video_.codec->decoder()),
      sampling_(models::begin_sampling(*video_.model, options, seed)) {
  sampling_.negative = video_.text->negative_prompt();
}

Session::Session(Loaded video, const std::string& state_file)
    : video_(std::move(video)),
      decoder_(video_.codec->decoder()),
      sampling_(load_state(video_, *decoder_, state_file)) {}

models::VideoSampling& Session::asked() {
  LACT_ASSERT(!sampler_);
  return sampling_;
}

std::optional<at::Tensor> Session::next_chunk(const models::OnStep& on_step) {
  at::NoGradGuard no_grad;
  if (!sampler_) {
    const at::Tensor text = video_.text->encode({sampling_.prompt});
    const at::Tensor negative =
        sampling_.with_negative ? video_.text->encode({sampling_.negative}) : at::Tensor();
    sampler_ = std::make_unique<models::VideoSampler>(video_.model, std::move(sampling_), text, negative);
  }
  const auto chunk = sampler_->next_chunk(on_step);
  if (!chunk) return {};
  return decoder_->push(*chunk);
}

int64_t Session::frames_of(int64_t chunks) const {
  const int64_t latent = chunks * video_.model->config().chunk_frames;
  return sampling().chunks() == 0 ? video_.codec->pixel_frames(latent) : latent * video_.codec->temporal();
}

int64_t Session::height() const { return video_.model->config().latent_height * video_.codec->spatial(); }
int64_t Session::width() const { return video_.model->config().latent_width * video_.codec->spatial(); }

void Session::save(const std::string& state_file) const {
  models::save_sampling(state_file, sampling(), decoder_.get(), video_.fingerprint);
}

Film write_film(Session& session, const FilmOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Film film;
  film.height = session.height();
  film.width = session.width();
  // All frames are alike, so that the output need not be told of more than two.
  const auto announced = size_t(std::min<int64_t>(session.frames_of(options.chunks), 2));
  io::FrameOutput output(options.output, std::vector<io::ImageSize>(announced, {film.height, film.width}),
                         options.fps);
  while (film.chunks < options.chunks) {
    const auto pixels = session.next_chunk([&](int64_t steps) {
      options.on_step(film.chunks, steps);
      return !options.stop();
    });
    if (!pixels) break;
    write_frames(output, *pixels);
    film.frames += pixels->size(2);
    film.resident_bytes.push_back(resident_bytes());
    ++film.chunks;
  }
  film.stopped = film.chunks < options.chunks;
  if (film.chunks > 0) {
    output.finish();
    if (!options.state.empty()) session.save(options.state);
  }
  film.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return film;
}

}  // namespace lact::tasks::video
