#include "lact/cli/nvs/scene_words.h"

#include <CLI/CLI.hpp>

#include <charconv>

#include "lact/base/error.h"
#include "lact/cli/fields.h"
#include "lact/io/gaussian_ply.h"

namespace lact::cli {

namespace {

constexpr const char* kGaussiansAlone = "Gaussians (.ply)";

data::Point parse_up(const std::string& word) {
  static const std::map<std::string, data::Point> axes = {{"x", {1, 0, 0}},   {"y", {0, 1, 0}},
                                                          {"z", {0, 0, 1}},   {"-x", {-1, 0, 0}},
                                                          {"-y", {0, -1, 0}}, {"-z", {0, 0, -1}}};
  const auto found = axes.find(word);
  LACT_CHECK(found != axes.end(), "--up: {} is not an axis, expected x, y, z, -x, -y or -z", word);
  return found->second;
}

/// The first option among these that was given, or "".
std::string given_among(const CLI::App& verb, const std::function<bool(const CLI::Option&)>& among) {
  for (const CLI::Option* option : verb.get_options())
    if (option->count() > 0 && among(*option)) return option->get_name();
  return "";
}

}  // namespace

std::array<double, 3> parse_background(const std::string& text, const std::string& option) {
  if (text == "white") return {1, 1, 1};
  if (text == "black") return {0, 0, 0};
  std::array<double, 3> colour{};
  const char *place = text.data(), *const end = text.data() + text.size();
  bool fine = true;
  for (size_t i = 0; i < 3 && fine; ++i) {
    if (i > 0) fine = place != end && *place++ == ',';
    const auto [behind, error] = std::from_chars(place, end, colour[i]);
    fine = fine && error == std::errc{} && colour[i] >= 0 && colour[i] <= 1;
    place = behind;
  }
  LACT_CHECK(fine && place == end, "{}: {} is no colour, expected white, black or R,G,B from 0 to 1", option,
             text);
  return colour;
}

void add_scene_words(CLI::App& verb, SceneArguments& arguments) {
  verb.add_option("SCENE", arguments.scene, "Scene file, or Gaussians (.ply)")->required();
  add_nvs_options(verb, arguments.nvs);
  verb.add_option("--background", arguments.background,
                  "Behind the Gaussians: white (the default), black or R,G,B from 0 to 1")
      ->group(kGaussiansAlone);
  auto* photos = verb.add_option("--photos", arguments.photos,
                                 "Capture of which the Gaussians were made: folder or camera file; its "
                                 "cameras are where to look from")
                     ->group(kGaussiansAlone);
  verb.add_option("--up", arguments.up,
                  "Where no photos tell: x, y, z, -x, -y or -z; by default -y, or z if the scene is flattest "
                  "along z")
      ->group(kGaussiansAlone)
      ->excludes(photos);
  const std::vector<CLI::Option*> before = verb.get_options();
  add_fields(verb, arguments.reading, kGaussiansAlone);
  for (auto* option : verb.get_options())
    if (std::find(before.begin(), before.end(), option) == before.end()) option->needs(photos);
}

tasks::nvs::SceneReader reader_of(const CLI::App& verb, const SceneArguments& arguments) {
  const bool gaussians = io::has_ply_name(arguments.scene);
  const std::string stray = given_among(verb, [&](const CLI::Option& option) {
    const std::string name = option.get_name();
    return gaussians ? name == "--model" || name == "--precision" : option.get_group() == kGaussiansAlone;
  });
  LACT_CHECK(stray.empty(), "{}: {} is for {}", arguments.scene, stray,
             gaussians ? "scene files of a model, not for Gaussians" : "Gaussians, files that end with .ply");
  tasks::nvs::OpenOptions options{arguments.nvs.model, arguments.nvs.load, {}};
  options.gaussians.photos = arguments.photos;
  options.gaussians.reading = arguments.reading;
  if (!arguments.background.empty())
    options.gaussians.background = parse_background(arguments.background, "--background");
  if (!arguments.up.empty()) options.gaussians.up = parse_up(arguments.up);
  return tasks::nvs::scene_reader(arguments.scene, options);
}

}  // namespace lact::cli
