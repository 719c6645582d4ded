// `lact mask`: the attention mask that a schedule, or a whole layout, is equivalent to.
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <iostream>
#include <sstream>

#include "lact/base/log.h"
#include "lact/base/options.h"
#include "lact/base/terminal.h"
#include "lact/cli/numbers.h"
#include "lact/cli/outputs.h"
#include "lact/cli/verbs.h"
#include "lact/eval/mask_picture.h"
#include "lact/io/png.h"
#include "lact/mixers/layout.h"
#include "lact/ops/attention/windows.h"

namespace lact::cli {

namespace {

struct MaskOptions {
  std::string kind, steps, png;
  int64_t length = 12, chunk = 4, stride = 2, phase = 0;
  std::optional<int64_t> window;
  int64_t inputs = 2, targets = 2, chunks = 3, repeats = 1, visible_clean = -1;
  bool json = false;
};

/// The options that mean something for each kind.
const std::map<std::string, std::vector<std::string>>& kinds() {
  static const std::map<std::string, std::vector<std::string>> rows = {
      {"full", {"--length"}},
      {"block", {"--length", "--chunk"}},
      {"shifted", {"--length", "--chunk"}},
      {"strided", {"--length", "--chunk", "--stride", "--phase"}},
      {"text", {"--length", "--chunk", "--window"}},
      {"views", {"--inputs", "--targets", "--chunk"}},
      {"video", {"--chunks", "--chunk", "--repeats", "--visible-clean"}},
      {"steps", {"--steps", "--length"}}};
  return rows;
}

void check_kind(const CLI::App& verb, const std::string& kind) {
  std::vector<std::string> names;
  for (const auto& [name, unused] : kinds()) names.push_back(name);
  const auto row = kinds().find(kind);
  if (row == kinds().end()) {
    const std::string similar = options::nearest(kind, names);
    fail(
        "[mask] unknown kind \"{}\"; {}", kind,
        similar.empty() ? fmt::format("known: {}", fmt::join(names, ", ")) : "did you mean " + similar + "?");
  }
  for (const auto* option : verb.get_options()) {
    const std::string name = option->get_name();
    const bool general = name == "--kind" || name == "--png" || name == "--json" || name == "--help";
    LACT_CHECK(
        option->count() == 0 || general || std::count(row->second.begin(), row->second.end(), name) > 0,
        "[mask] {} means nothing for kind {}; it takes {}", name, kind, fmt::join(row->second, ", "));
  }
}

/// "update:0-8,apply:0-12"
ttt::Schedule parse_steps(const std::string& text) {
  ttt::Schedule schedule;
  std::stringstream list(text);
  for (std::string item; std::getline(list, item, ',');) {
    char word[32] = {}, rest = 0;
    ttt::Step step{};
    const int found =
        std::sscanf(item.c_str(), " %31[a-z_]:%ld-%ld %c", word, &step.tokens.begin, &step.tokens.end, &rest);
    LACT_CHECK(found == 3, "[mask] \"{}\" is not of the form operation:begin-end", item);
    std::string operation = word;
    if (operation == "update" || operation == "apply") operation += "_only";
    options::read(options::Json(operation), step.operation, "operation");
    schedule.push_back(step);
  }
  LACT_CHECK(!schedule.empty(), "[mask] --steps is empty, expected operation:begin-end, ...");
  return schedule;
}

/// Before anything is made: a layout is as long as its sequence, a mask the square of it.
void check_length(const MaskOptions& o) {
  static constexpr int64_t kLongest = 16384;
  const auto check = [](int64_t tokens) {
    LACT_CHECK(tokens <= kLongest, "[mask] {} tokens are too many to draw; at most {}", tokens, kLongest);
  };
  for (const int64_t number : {o.length, o.chunk, o.inputs, o.targets, o.chunks, o.repeats}) check(number);
  if (o.kind == "views") check((o.inputs + o.targets) * o.chunk);
  if (o.kind == "video") check((o.chunks * (o.repeats + 1) - 1) * o.chunk);
}

/// The layout to draw; only text, views and video have a window.
SequenceLayout make_layout(const MaskOptions& o) {
  if (o.kind == "text") return causal_layout(o.length, o.chunk, o.window.value_or(o.chunk));
  if (o.kind == "views") return views_layout(o.inputs, o.targets, o.chunk);
  if (o.kind == "video") return interleaved_layout(o.chunks, {1, 1, o.chunk}, o.repeats, o.visible_clean);
  SequenceLayout layout;
  layout.tokens = o.length;
  if (o.kind == "full") layout.schedule = ttt::full_schedule(o.length);
  if (o.kind == "block") layout.schedule = ttt::block_causal_schedule(o.length, o.chunk);
  if (o.kind == "shifted") layout.schedule = ttt::shifted_schedule(o.length, o.chunk);
  if (o.kind == "strided") layout.schedule = ttt::strided_schedule(o.length, o.chunk, o.stride, o.phase);
  if (o.kind == "steps") layout.schedule = parse_steps(o.steps);
  return layout;
}

std::string caption(const ttt::Schedule& schedule) {
  constexpr size_t kShown = 6;
  std::vector<std::string> steps;
  for (const auto& [operation, tokens] : schedule) {
    if (steps.size() == kShown) {
      steps.push_back(fmt::format("... ({} steps)", schedule.size()));
      break;
    }
    steps.push_back(fmt::format("{} {}-{}", options::word_of(operation), tokens.begin, tokens.end));
  }
  return fmt::format("{}", fmt::join(steps, ", "));
}

options::Json to_json(const SequenceLayout& layout, const at::Tensor& mask) {
  options::Json json = {
      {"length", layout.tokens}, {"steps", options::Json::array()}, {"mask", options::Json::array()}};
  for (const auto& [operation, tokens] : layout.schedule) {
    json["steps"].push_back(
        {{"operation", options::word_of(operation)}, {"begin", tokens.begin}, {"end", tokens.end}});
  }
  const at::Tensor rows = mask.to(at::kByte).contiguous();
  for (int64_t i = 0; i < rows.size(0); ++i) {
    const uint8_t* row = rows[i].data_ptr<uint8_t>();
    json["mask"].push_back(std::vector<int>(row, row + rows.size(1)));
  }
  return json;
}

void run(const CLI::App& verb, MaskOptions options) {
  if (!options.steps.empty() && options.kind.empty()) options.kind = "steps";
  LACT_CHECK(
      !options.kind.empty(),
      "[mask] --kind is missing; it is one of full, block, shifted, strided, text, views, video, steps");
  check_kind(verb, options.kind);
  check_length(options);
  const SequenceLayout layout = make_layout(options);

  eval::MaskPicture picture = {ttt::schedule_mask(layout.schedule, layout.tokens), {}};
  if (!layout.window.blocks.empty()) picture.window = ops::window_mask(layout.window, layout.tokens);
  if (!options.png.empty()) {
    io::write_png(options.png, eval::mask_image(picture));
    log::info("wrote {}", options.png);
  }
  if (options.json) {
    std::cout << to_json(layout, picture.window.defined() ? layout_mask(layout) : picture.memory).dump()
              << "\n";
  } else {
    std::cout << caption(layout.schedule) << "\n"
              << eval::mask_text(picture, terminal_columns(STDOUT_FILENO));
  }
}

}  // namespace

void add_mask(CLI::App& program, int& /*exit_code*/) {
  const auto options = std::make_shared<MaskOptions>();
  CLI::App* verb =
      program.add_subcommand("mask", "Draw the attention mask that a schedule of updates and applies equals");
  verb->add_option(
      "--kind", options->kind,
      "full, block, shifted, strided (figure 3 of the paper); text, views, video (with the window); steps");
  add_number(*verb, "--length", options->length, "Tokens of the sequence")->capture_default_str();
  add_number(*verb, "--chunk", options->chunk, "Tokens of a chunk, of a view or of a video chunk")
      ->capture_default_str();
  add_number(*verb, "--stride", options->stride, "strided: one of so many chunks is written")
      ->capture_default_str();
  add_number(*verb, "--phase", options->phase, "strided: which of them")->capture_default_str();
  add_number(*verb, "--window", options->window, "text: width of the sliding window; the chunk unless given");
  add_number(*verb, "--inputs", options->inputs, "views: input views")->capture_default_str();
  add_number(*verb, "--targets", options->targets, "views: target views")->capture_default_str();
  add_number(*verb, "--chunks", options->chunks, "video: chunks")->capture_default_str();
  add_number(*verb, "--repeats", options->repeats, "video: noisy copies of each chunk")
      ->capture_default_str();
  add_number(*verb, "--visible-clean", options->visible_clean,
             "video: tokens of the clean chunk that a noisy one sees; all unless given");
  verb->add_option("--steps", options->steps, "Your own schedule, like update:0-8,apply:0-12");
  verb->add_option("--png", options->png, "Also write a picture")->check(output_file());
  verb->add_flag("--json", options->json, "Print steps and mask as JSON");
  verb->footer(
      "Rows are outputs, columns the tokens they depend on.\n\n"
      "Example: lact mask --kind shifted --length 12 --chunk 4\n"
      "         lact mask --kind video --chunks 3 --chunk 4 --repeats 2 --png video.png\n"
      "         lact mask --steps update:0-8,apply:0-12");
  verb->callback([verb, options] { run(*verb, *options); });
}

}  // namespace lact::cli
