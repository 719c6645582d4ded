#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <iostream>
#include <sstream>

#include "lact/base/error.h"
#include "lact/base/format.h"
#include "lact/base/interrupt.h"
#include "lact/base/log.h"
#include "lact/base/memory_use.h"
#include "lact/base/progress.h"
#include "lact/cli/fields.h"
#include "lact/cli/lm/text.h"
#include "lact/cli/numbers.h"
#include "lact/cli/outputs.h"
#include "lact/cli/verbs.h"
#include "lact/cli/video/video.h"
#include "lact/io/atomic_file.h"
#include "lact/io/frame_output.h"
#include "lact/tasks/video/session.h"

namespace lact::cli {

namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestPromptFile = size_t{1} << 20;

struct VideoGenerateArguments {
  VideoArguments video;
  std::string prompt, prompts, negative, save_state, from_state, output;
  models::SampleOptions sample;
  int64_t chunks = 7, seed = 1;
  double fps = 16;
  bool json = false;
};

/// One video to make, or to go on with.
struct FilmOrder {
  std::string prompt, output;
  std::string state;  ///< written at the end; "": not
};

/// "out.mp4" -> "out-002.mp4", "frames/" -> "frames-002"
std::string numbered_name(const std::string& name, size_t index) {
  fs::path path(name);
  if (path.filename().empty()) path = path.parent_path();  // "frames/"
  return (path.parent_path() /
          fmt::format("{}-{:03}{}", path.stem().string(), index, path.extension().string()))
      .string();
}

std::vector<std::string> prompt_lines(const std::string& file) {
  std::istringstream text(read_text(file, kLongestPromptFile));
  std::vector<std::string> prompts;
  for (std::string line; std::getline(text, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.find_first_not_of(" \t") != std::string::npos) prompts.push_back(line);
  }
  LACT_CHECK(!prompts.empty(), "{}: holds no prompt, expected one on each line", file);
  return prompts;
}

/// One video, or one for each line of --prompts. A video that goes on may keep its prompt.
std::vector<FilmOrder> film_orders(const VideoGenerateArguments& arguments) {
  LACT_CHECK(arguments.prompt.empty() || arguments.prompts.empty(),
             "[video] give --prompt or --prompts, not both");
  LACT_CHECK(!arguments.prompt.empty() || !arguments.prompts.empty() || !arguments.from_state.empty(),
             "[video] give --prompt, --prompts or --from-state");
  if (arguments.prompts.empty()) return {{arguments.prompt, arguments.output, arguments.save_state}};
  std::vector<FilmOrder> orders;
  for (const auto& prompt : prompt_lines(arguments.prompts)) {
    const size_t index = orders.size();
    orders.push_back({prompt, numbered_name(arguments.output, index),
                      arguments.save_state.empty() ? "" : numbered_name(arguments.save_state, index)});
  }
  return orders;
}

void check_film_orders(const CLI::App& verb, const VideoGenerateArguments& arguments,
                       const std::vector<FilmOrder>& orders) {
  arguments.sample.check();
  check_utf8(arguments.negative, "--negative");
  LACT_CHECK(verb["--fps"]->count() == 0 || io::is_video_name(arguments.output),
             "{}: --fps is for videos, .mp4 or .gif", arguments.output);
  for (const auto& order : orders) {
    check_utf8(order.prompt, "the prompt");
    io::check_frame_output(order.output);
    if (!order.state.empty()) io::check_can_write(order.state);
  }
}

/// A fresh video, or one that goes on with what the command line changes.
tasks::video::Session film_session(const CLI::App& verb, const VideoGenerateArguments& arguments,
                                   const tasks::video::Loaded& video, const FilmOrder& order) {
  const auto given = [&](const char* option) { return verb[option]->count() > 0; };
  if (arguments.from_state.empty()) {
    tasks::video::Session session(video, arguments.sample, arguments.seed);
    session.asked().prompt = order.prompt;
    if (given("--negative")) session.asked().negative = arguments.negative;
    return session;
  }
  tasks::video::Session session(video, arguments.from_state);
  models::VideoSampling& asked = session.asked();
  if (!order.prompt.empty()) asked.prompt = order.prompt;
  if (given("--negative")) asked.negative = arguments.negative;
  if (given("--seed")) asked.seed = arguments.seed;
  if (given("--guidance")) asked.options.guidance = arguments.sample.guidance;
  if (given("--solver")) asked.options.solver.solver = arguments.sample.solver.solver;
  if (given("--steps")) asked.options.solver.steps = arguments.sample.solver.steps;
  if (given("--shift")) asked.options.solver.shift = arguments.sample.solver.shift;
  return session;
}

nlohmann::ordered_json film_json(const FilmOrder& order, const tasks::video::Film& film,
                                 const std::string& prompt) {
  const auto name = [](const std::string& text) {
    return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
  };
  return {{"prompt", prompt},
          {"output", name(film.chunks > 0 ? order.output : "")},
          {"state", name(film.chunks > 0 ? order.state : "")},
          {"chunks", film.chunks},
          {"frames", film.frames},
          {"height", film.height},
          {"width", film.width},
          {"seconds", film.seconds},
          {"stopped", film.stopped},
          {"resident_bytes", film.resident_bytes}};
}

std::string film_sentence(const FilmOrder& order, const tasks::video::Film& film) {
  std::string text =
      fmt::format("{}: {} frames of {} x {} pixels, {} chunks in {}", order.output, film.frames, film.height,
                  film.width, film.chunks, format_duration(film.seconds));
  if (!order.state.empty()) text += fmt::format("; to go on: {}", order.state);
  return text;
}

int run_video_generate(const CLI::App& verb, const VideoGenerateArguments& arguments) {
  const std::vector<FilmOrder> orders = film_orders(arguments);
  check_film_orders(verb, arguments, orders);
  return_freed_memory();
  const auto video = tasks::video::load(arguments.video.model, arguments.video.load);
  const Interrupt interrupt;
  nlohmann::ordered_json films = nlohmann::ordered_json::array();
  std::string report;
  bool stopped = false;
  std::optional<Progress> progress;
  const int64_t all_chunks = int64_t(orders.size()) * arguments.chunks;
  for (size_t i = 0; i < orders.size() && !stopped; ++i) {
    auto session = film_session(verb, arguments, video, orders[i]);
    const std::string prompt = session.sampling().prompt;
    const int64_t steps = session.sampling().options.solver.steps, before = int64_t(i) * arguments.chunks;
    if (!progress) progress.emplace("generate", all_chunks * steps);
    tasks::video::FilmOptions options = {orders[i].output, orders[i].state, arguments.chunks, arguments.fps};
    options.stop = [&] { return interrupt.requested(); };
    options.on_step = [&](int64_t chunk, int64_t done) {
      progress->update((before + chunk) * steps + done,
                       fmt::format("chunk {} of {}", before + chunk + 1, all_chunks));
    };
    const tasks::video::Film film = tasks::video::write_film(session, options);
    stopped = film.stopped;
    if (stopped) log::warn("stopped after {} of {} chunks", film.chunks, arguments.chunks);
    films.push_back(film_json(orders[i], film, prompt));
    if (film.chunks > 0) report += film_sentence(orders[i], film) + "\n";
  }
  progress.reset();
  if (arguments.json) {
    const nlohmann::ordered_json json = {
        {"videos", films}, {"fps", arguments.fps}, {"peak_memory_bytes", peak_resident_bytes()}};
    report = json.dump(2) + "\n";
  }
  std::cout << report;
  return stopped ? kExitInterrupted : 0;
}

}  // namespace

void add_video_generate(CLI::App& task, int& exit_code) {
  const auto arguments = std::make_shared<VideoGenerateArguments>();
  auto* verb = task.add_subcommand("generate", "Make a video of a text, chunk by chunk, in constant memory");
  verb->footer(
      "Example: lact video generate --model run --prompt \"A red ball rolls behind a wall\" --chunks 20 -o "
      "ball.mp4\n"
      "         lact video generate --model run --from-state ball.state --seed 2 --chunks 5 -o more.mp4\n"
      "The output is a folder of PNG frames, or a video (.mp4 or .gif, by ffmpeg). Ctrl-C keeps the finished "
      "chunks.\n"
      "--prompts makes a video for each line of a file and numbers the outputs. With --from-state, prompt, "
      "seed\n"
      "and sampling are those of the file unless they are given.");
  add_video_options(*verb, arguments->video);
  verb->add_option("-p,--prompt", arguments->prompt, "What the video shows");
  verb->add_option("--prompts", arguments->prompts, "File with a prompt on each line");
  verb->add_option("--negative", arguments->negative,
                   "What guidance leads away from; by default Wan's negative prompt for models that read "
                   "through umT5, the empty text for others");
  verb->add_option("-o,--output", arguments->output, "Folder, .mp4 or .gif")
      ->check(output_frames())
      ->required();
  add_number(*verb, "--chunks", arguments->chunks, "Chunks to make", Limits{1, 1'000'000})
      ->capture_default_str();
  add_number(*verb, "--seed", arguments->seed, "The same seed gives the same video", kAny)
      ->capture_default_str();
  add_number(*verb, "--fps", arguments->fps, "Frames per second of a video", kFramesPerSecond)
      ->capture_default_str();
  verb->add_option("--save-state", arguments->save_state, "Write what is needed to go on later")
      ->check(output_file());
  verb->add_option("--from-state", arguments->from_state, "Go on from such a file");
  add_fields(*verb, arguments->sample, "Sampling");
  verb->add_flag("--json", arguments->json, "Print for a program to read");
  verb->callback([arguments, verb, &exit_code] { exit_code = run_video_generate(*verb, *arguments); });
}

}  // namespace lact::cli
