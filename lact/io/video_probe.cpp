#include <cerrno>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "lact/base/error.h"
#include "lact/base/json_text.h"
#include "lact/io/ffmpeg_file.h"
#include "lact/io/regular_file.h"
#include "lact/io/video_reader.h"

namespace lact::io {

namespace {

constexpr size_t kLongestProbe = size_t{1} << 20;
constexpr double kFastestProbed = 1e6, kLongestProbed = 1e8;  // frames per second, seconds

std::string ffprobe_answer(const std::string& path, const VideoPrograms& programs,
                           std::initializer_list<std::string> question) {
  std::vector<std::string> words = {programs.ffprobe, "-loglevel", "error"};
  words.insert(words.end(), kFfmpegFilesAlone.begin(), kFfmpegFilesAlone.end());
  words.insert(words.end(), {"-select_streams", "V:0", "-of", "json"});
  words.insert(words.end(), question);
  words.insert(words.end(), {"-i", ffmpeg_file(path)});
  ChildProcess ffprobe(ChildProcess::Direction::we_read);
  start_video_program(ffprobe, std::move(words), path);
  std::string answer(kLongestProbe, '\0');
  answer.resize(ffprobe.read(answer.data(), answer.size()));
  if (!ffprobe.finish()) fail_as_unreadable(ffprobe, programs.ffprobe, path);
  return answer;
}

/// Numbers stand in strings: "10.381", "30000/1001", "N/A". Zero if there is none.
double probed_number(const nlohmann::ordered_json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return 0;
  if (found->is_number()) return found->get<double>();
  if (!found->is_string()) return 0;
  const auto& text = found->get_ref<const std::string&>();
  char* rest = nullptr;
  double value = std::strtod(text.c_str(), &rest);
  if (*rest == '/') value /= std::strtod(rest + 1, nullptr);
  return std::isfinite(value) && value > 0 ? value : 0;
}

nlohmann::ordered_json first_stream(const nlohmann::ordered_json& answer, const std::string& path) {
  const auto streams = answer.find("streams");
  LACT_CHECK(streams != answer.end() && streams->is_array() && !streams->empty() && (*streams)[0].is_object(),
             "{}: the file has no video in it", path);
  return (*streams)[0];
}

}  // namespace

void start_video_program(ChildProcess& process, std::vector<std::string> words, const std::string& path) {
  const std::string program = words[0];
  const int error = process.start(std::move(words));
  LACT_CHECK(error != ENOENT,
             "{}: videos are read by {}, which is not installed (Debian package ffmpeg); a folder of PNG or "
             "JPEG frames needs no such program",
             path, program);
  LACT_CHECK(error == 0, "{}: {} cannot be started: {}", path, program, std::strerror(error));
}

void fail_as_unreadable(const ChildProcess& process, const std::string& program, const std::string& path) {
  std::string complaint = process.last_complaint();
  const std::string repeated_name = ffmpeg_file(path) + ": ";
  if (complaint.starts_with(repeated_name)) complaint.erase(0, repeated_name.size());
  if (complaint.empty()) complaint = "there is no frame in it";
  fail("{}: the video cannot be read by {}: {}", path, program, complaint);
}

VideoInfo probe_video(const std::string& path, const VideoPrograms& programs) {
  regular_file_size(path);
  constexpr const char* kEntries = "stream=width,height,avg_frame_rate,r_frame_rate,duration:format=duration";
  const auto ask = [&](std::initializer_list<std::string> question) {
    nlohmann::ordered_json answer =
        try_parse_json(ffprobe_answer(path, programs, question)).value_or(nullptr);
    LACT_CHECK(answer.is_object(), "{}: {} gives no JSON", path, programs.ffprobe);
    return answer;
  };
  const nlohmann::ordered_json answer = ask({"-show_entries", kEntries});
  const nlohmann::ordered_json stream = first_stream(answer, path);
  VideoInfo info;
  info.size = {int64_t(probed_number(stream, "height")), int64_t(probed_number(stream, "width"))};
  check_image_size(path, info.size.height, info.size.width);
  info.fps = probed_number(stream, "avg_frame_rate");
  if (info.fps == 0) info.fps = probed_number(stream, "r_frame_rate");
  LACT_CHECK(info.fps > 0, "{}: the video does not tell its frame rate", path);
  info.seconds = probed_number(stream, "duration");
  if (info.seconds == 0 && answer.contains("format") && answer["format"].is_object())
    info.seconds = probed_number(answer["format"], "duration");
  if (info.seconds == 0) {
    const auto counted = ask({"-count_packets", "-show_entries", "stream=nb_read_packets"});
    info.seconds = probed_number(first_stream(counted, path), "nb_read_packets") / info.fps;
  }
  LACT_CHECK(info.fps <= kFastestProbed && info.seconds <= kLongestProbed,
             "{}: the video claims {:g} seconds of {:g} frames each, expected at most {:g} of {:g}", path,
             info.seconds, info.fps, kLongestProbed, kFastestProbed);
  return info;
}

}  // namespace lact::io
