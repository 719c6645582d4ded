// A video that goes on: chunks are solved and decoded one after the other, so that no more than one of them
// is in memory. What is needed to go on later is a file of constant size.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lact/models/video/sample.h"
#include "lact/tasks/video/load.h"

namespace lact::tasks::video {

class Session {
 public:
  /// A new video of nothing; `asked` says what it should show. Throws a sentence for options that cannot
  /// work.
  Session(Loaded video, const models::SampleOptions& options, int64_t seed);

  /// One that goes on from a state file. Throws a sentence if that is of another model.
  Session(Loaded video, const std::string& state_file);

  /// Prompt, negative prompt, seed and options, which may be changed until the first chunk is begun.
  models::VideoSampling& asked();
  const models::VideoSampling& sampling() const { return sampler_ ? sampler_->sampling() : sampling_; }

  /// Pixels [1, 3, frames, H, W] in [-1, 1] of the next chunk; nothing if `on_step` gave it up, after which
  /// the same chunk can be begun again.
  std::optional<at::Tensor> next_chunk(const models::OnStep& on_step = {});

  /// Frames of the next `chunks` chunks: the first chunk of a video may have fewer than the others.
  int64_t frames_of(int64_t chunks) const;
  int64_t height() const;
  int64_t width() const;

  /// A state file, written whole or not at all.
  void save(const std::string& state_file) const;

 private:
  Loaded video_;
  std::unique_ptr<models::CodecStream> decoder_;
  models::VideoSampling sampling_;                 ///< until the first chunk is begun
  std::unique_ptr<models::VideoSampler> sampler_;  ///< from then on
};

struct FilmOptions {
  std::string output;  ///< a folder of frames, or a video file
  std::string state;   ///< state file to write at the end; "": none
  int64_t chunks = 1;  ///< to make now
  double fps = 16;
  std::function<bool()> stop = [] { return false; };  ///< asked after every step
  std::function<void(int64_t chunk, int64_t steps)> on_step = [](int64_t, int64_t) {};  ///< after it
};

/// What was made: less than what was asked for if it was stopped.
struct Film {
  int64_t chunks = 0, frames = 0, height = 0, width = 0;
  bool stopped = false;
  double seconds = 0;
  std::vector<int64_t> resident_bytes;  ///< after each chunk
};

/// Writes the next chunks to a file as they are made. A stopped film ends after its last finished chunk;
/// nothing is written if there is none.
Film write_film(Session& session, const FilmOptions& options);

}  // namespace lact::tasks::video
