#include "lact/io/video_writer.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "lact/base/error.h"

namespace lact::io {

namespace {

constexpr double kFastestVideo = 1000;
constexpr size_t kLongestComplaint = 400;

std::string video_ending(const std::string& path) { return std::filesystem::path(path).extension().string(); }

/// ffmpeg reads "http://..." or "-y" as something else than a file; after "file:" every name is one.
std::string as_ffmpeg_file(const std::string& name) { return "file:" + name; }

std::vector<std::string> ffmpeg_words(const VideoOptions& options, const std::string& ending,
                                      const std::string& output) {
  std::vector<std::string> words = {options.ffmpeg, "-hide_banner", "-nostdin", "-loglevel", "error", "-y"};
  const auto add = [&](std::initializer_list<std::string> more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  add({"-f", "rawvideo", "-pixel_format", "rgb24", "-framerate", fmt::format("{}", options.fps)});
  add({"-video_size", fmt::format("{}x{}", options.size.width, options.size.height), "-i", "pipe:0", "-an"});
  if (ending == ".gif") {
    add({"-filter_complex", "split[a][b];[a]palettegen[p];[b][p]paletteuse=dither=bayer"});
    add({"-loop", "0", "-f", "gif"});
  } else {
    // 4:2:0 wants even sides; players take the colours of high-definition video for granted.
    add({"-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2,scale=out_color_matrix=bt709:out_range=tv"});
    add({"-c:v", "libx264", "-preset", "medium", "-crf", "16", "-pix_fmt", "yuv420p"});
    add({"-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709", "-color_range", "tv"});
    add({"-movflags", "+faststart", "-f", "mp4"});
  }
  add({as_ffmpeg_file(output)});
  return words;
}

/// What was written into a file, as one line.
std::string complaints_in(int descriptor) {
  std::string text(kLongestComplaint, '\0');
  const ssize_t count = pread(descriptor, text.data(), text.size(), 0);
  text.resize(count > 0 ? size_t(count) : 0);
  std::string line;
  for (const char letter : text) {
    const bool space = static_cast<unsigned char>(letter) <= ' ';
    if (!space) line += letter;
    if (space && !line.empty() && line.back() != ' ') line += ' ';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

/// The file actions and attributes of posix_spawn, freed in the end.
struct SpawnSettings {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;

  SpawnSettings() {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
};

}  // namespace

bool is_video_name(const std::string& path) {
  const std::string ending = video_ending(path);
  return ending == ".mp4" || ending == ".gif";
}

VideoWriter::VideoWriter(const std::string& path, const VideoOptions& options)
    : path_(path), options_(options), file_(path) {
  LACT_CHECK(is_video_name(path), "{}: videos are written as .mp4 or .gif", path);
  LACT_CHECK(std::isfinite(options.fps) && options.fps > 0 && options.fps <= kFastestVideo,
             "{}: the video has {} frames per second, expected a number above 0 and up to {}", path,
             options.fps, kFastestVideo);
  check_image_size(path, options.size.height, options.size.width);
  try {
    start();
  } catch (...) {
    for (const int descriptor : {pixels_, messages_})
      if (descriptor >= 0) close(descriptor);
    throw;
  }
}

VideoWriter::~VideoWriter() {
  if (process_ > 0) {
    kill(-process_, SIGKILL);  // and whatever it has started: start() made it a group
    wait_for_end();
  }
  if (pixels_ >= 0) close(pixels_);
  if (messages_ >= 0) close(messages_);
}

void VideoWriter::start() {
  // Writing into a socket, unlike a pipe, can do without the signal that would end the program.
  int ends[2];
  LACT_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "{}: no socket: {}", path_,
             std::strerror(errno));
  pixels_ = ends[0];
  messages_ = memfd_create("ffmpeg", MFD_CLOEXEC);
  std::vector<std::string> words = ffmpeg_words(options_, video_ending(path_), file_.temporary_name());
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  SpawnSettings settings;
  posix_spawn_file_actions_adddup2(&settings.files, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_addopen(&settings.files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  if (messages_ >= 0) posix_spawn_file_actions_adddup2(&settings.files, messages_, STDERR_FILENO);
  // In a group of its own: Ctrl-C in the terminal is for us to handle.
  posix_spawnattr_setflags(&settings.attributes, POSIX_SPAWN_SETPGROUP);
  const int error =
      posix_spawnp(&process_, arguments[0], &settings.files, &settings.attributes, arguments.data(), environ);
  close(ends[1]);
  if (error == 0) return;
  process_ = -1;
  LACT_CHECK(error != ENOENT,
             "{}: videos are written by {}, which is not installed (Debian package ffmpeg); a folder of PNG "
             "frames needs no such program",
             path_, options_.ffmpeg);
  fail("{}: {} cannot be started: {}", path_, options_.ffmpeg, std::strerror(error));
}

int VideoWriter::wait_for_end() {
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  return status;
}

void VideoWriter::give_up() {
  if (process_ > 0) {
    // It has closed its input, so it is about to end by itself and to say why.
    close(std::exchange(pixels_, -1));
    wait_for_end();
  }
  const std::string complaints = complaints_in(messages_);
  fail("{}: {} failed{}{}", path_, options_.ffmpeg, complaints.empty() ? "" : ": ", complaints);
}

void VideoWriter::write(const at::Tensor& frame) {
  LACT_CHECK(frame.defined() && frame.scalar_type() == at::kByte &&
                 frame.sizes() == at::IntArrayRef({options_.size.height, options_.size.width, 3}),
             "{}: frame {} has shape {}, expected bytes [{}, {}, 3]", path_, frames_,
             frame.defined() ? frame.sizes().vec() : std::vector<int64_t>{}, options_.size.height,
             options_.size.width);
  LACT_CHECK(process_ > 0, "{}: the video is finished already", path_);
  const at::Tensor dense = frame.to(at::kCPU).contiguous();
  const auto* bytes = dense.data_ptr<uint8_t>();
  for (size_t sent = 0; sent < dense.nbytes();) {
    const ssize_t count = send(pixels_, bytes + sent, dense.nbytes() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR) give_up();
    if (count > 0) sent += size_t(count);
  }
  ++frames_;
}

void VideoWriter::finish() {
  LACT_CHECK(frames_ > 0, "{}: a video needs at least one frame", path_);
  LACT_CHECK(process_ > 0, "{}: the video is finished already", path_);
  close(std::exchange(pixels_, -1));
  const int status = wait_for_end();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) give_up();
  file_.commit();
}

}  // namespace lact::io
