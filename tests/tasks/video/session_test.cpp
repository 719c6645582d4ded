#include "lact/tasks/video/session.h"

#include <ATen/ATen.h>

#include <filesystem>

#include "support/errors.h"
#include "support/temporary_folder.h"
#include "support/tiny_video_folder.h"

namespace lact::tasks::video {
namespace {

using lact::testing::save_tiny_video;
using lact::testing::TemporaryFolder;

class VideoSession : public ::testing::Test {
 protected:
  VideoSession() { save_tiny_video(folder_ / "model"); }

  Session begin(const std::string& prompt) const {
    models::SampleOptions options;
    options.solver.steps = 2;
    Session session(load(folder_ / "model"), options, /*seed=*/1);
    session.asked().prompt = prompt;
    return session;
  }

  TemporaryFolder folder_;
};

TEST_F(VideoSession, GoesOnFromAStateFileAsIfItHadNotStopped) {
  Session whole = begin("a red ball");
  whole.next_chunk();
  const at::Tensor expected = *whole.next_chunk();

  Session first = begin("a red ball");
  EXPECT_EQ(first.next_chunk()->size(2), begin("").frames_of(1));
  first.save(folder_ / "ball.state");
  Session second(load(folder_ / "model"), folder_ / "ball.state");
  EXPECT_EQ(second.sampling().prompt, "a red ball");
  EXPECT_EQ(second.sampling().chunks(), 1);
  EXPECT_TRUE(second.next_chunk()->equal(expected));

  Session other(load(folder_ / "model"), folder_ / "ball.state");
  other.asked().seed = 2;
  EXPECT_FALSE(other.next_chunk()->equal(expected));
}

TEST_F(VideoSession, AStoppedFilmHasItsFinishedChunks) {
  Session session = begin("a red ball");
  FilmOptions options;
  options.output = folder_ / "frames";
  options.state = folder_ / "ball.state";
  options.chunks = 3;
  int64_t steps = 0;
  options.on_step = [&](int64_t, int64_t) { ++steps; };
  options.stop = [&] { return steps == 3; };  // in the middle of the second chunk
  const Film film = write_film(session, options);
  EXPECT_TRUE(film.stopped);
  EXPECT_EQ(film.chunks, 1);
  EXPECT_EQ(film.frames, begin("").frames_of(1));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(options.output), {}), film.frames);
  EXPECT_EQ(Session(load(folder_ / "model"), options.state).sampling().chunks(), 1);
}

}  // namespace
}  // namespace lact::tasks::video
