// `lact bench`: how fast everything is, against the machine's limits and against PyTorch.
#include "lact/cli/bench.h"

#include <CLI/CLI.hpp>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/memory_use.h"
#include "lact/bench/team.h"
#include "lact/cli/device.h"
#include "lact/cli/numbers.h"
#include "lact/cli/outputs.h"
#include "lact/cli/verbs.h"
#include "lact/ops/dispatch/paths.h"

namespace lact::cli {

namespace {

struct Area {
  std::string name, help, footer;
  std::function<void(bench::Session&)> run;
  bool plots = false;
  void (*add_own_options)(CLI::App&, BenchArguments&) = nullptr;
};

void add_block_option(CLI::App& verb, BenchArguments& arguments) {
  verb.add_flag("--block", arguments.options.block,
                "Whole blocks of a model: norms and feed-forward network around each layer");
}

void add_serve_options(CLI::App& verb, BenchArguments& arguments) {
  add_number(verb, "--clients", arguments.options.clients, "Clients at once", Limits{1, 1000})
      ->capture_default_str();
  add_number(verb, "--seconds", arguments.options.seconds, "How long they ask", Limits{0.1, 86400})
      ->capture_default_str();
}

const std::vector<Area>& areas() {
  static const std::vector<Area> all = {
      {"ttt", "The test-time-training operation, forward and backward",
       "Counted: 18 D F operations per token forward (6 products to update, 3 to apply), three times that "
       "with the\n"
       "backward pass; Newton-Schulz 3 m2 n + m3 per step and matrix forward, 6 m2 n + 2 m3 backward (m <= "
       "n), as its\n"
       "products are symmetric. Recomputing adds 10 D F per token and Newton-Schulz forward.",
       bench::bench_ttt},
      {"newton-schulz", "Muon's orthogonalisation against dense matrix products",
       "Counted: 3 m2 n + m3 operations per step forward, 6 m2 n + 2 m3 backward. \"x bf16\" and \"x f32\" "
       "are\n"
       "LibTorch's time for the dense products alone.",
       bench::bench_newton_schulz},
      {"attention", "Sliding-window attention, forward and backward",
       "Counted: per visible pair of query and key and per head 2 products of the head's width forward, 5 "
       "more\n"
       "backward (the scores are made again).",
       bench::bench_attention},
      {"recurrences", "GLA, DeltaNet and Mamba-2: chunks of a linear recurrence, forward and backward",
       "Counted per token and head of width D, in multiply-adds: GLA and Mamba-2 2 D2 + 128 D forward, 5 D2 "
       "+ "
       "320 D\n"
       "backward; DeltaNet 3 D2 + 256 D and 9 D2 + 832 D.",
       bench::bench_recurrences},
      {"splat", "Pictures of Gaussians: forward and backward, against Gaussians, pixels and threads",
       "A shape is the number of Gaussians, with harmonics of degree 3, and the picture's size. PyTorch "
       "composes tiles\n"
       "with lists of about the same length together. What is compared with the reference is a window of 24 "
       "x 24 pixels.",
       bench::bench_splat},
      {"lm", "Language model: prefill and training step",
       "Counted: the model's own operations (lact info), attention over what the window really holds, "
       "updates of\n"
       "complete chunks; a training step is three forward passes.",
       [](bench::Session& session) { bench::bench_lm(session, make_train_step); }},
      {"decode", "Language model: one token after the other",
       "The share is that of the memory's bandwidth: bytes of the weights, fast weights and window that a "
       "token must\n"
       "read. A model that fits into the cache may exceed it. Seconds are those of one token. Of several "
       "texts "
       "at\n"
       "once, the weights are read once for all: how many times fewer bytes that is, is the most that can be "
       "won.",
       bench::bench_decode},
      {"serve", "Language model server: many clients at once, and prompts that it knows already",
       "Clients ask random questions over the loopback and leave some answers in the middle; every token is "
       "compared with\n"
       "the text written alone. Seconds are the median of the time to the first token, and between tokens.",
       bench::bench_serve, false, add_serve_options},
      {"nvs", "View synthesis: reading a scene, rendering a view, training step",
       "Counted: the products of a good implementation: the last block is written alone, a view is read "
       "alone.\n"
       "A training step is three forward passes. A shape is the preset, input views and their side in "
       "pixels.",
       bench::bench_nvs},
      {"views",
       "Reading a scene and rendering a frame against the number of input views, the paper's table 2",
       "LaCT, full attention and Perceiver, with as many registers as a view has tokens. Counted as nvs. The "
       "fewest views\n"
       "are compared with the reference.",
       bench::bench_views, true},
      {"video", "Video: denoising a chunk, writing a clean one, training step",
       "Counted: the model's own operations (lact info) with the chunks that are really seen; a training "
       "step is\n"
       "three forward passes. A shape is the preset, the tokens of a chunk and the chunks before it (of the "
       "clip, in training).",
       bench::bench_video},
      {"chunks", "Throughput against chunk size, the paper's figure 1a",
       "Counted: 54 D F operations per token, forward and backward; Newton-Schulz is not, it is what small "
       "chunks "
       "suffer from.",
       bench::bench_chunks, true},
      {"states", "Throughput against the size of the state, the paper's figure 1b",
       "Heads of growing width share the same channels; all tokens in one chunk, or in chunks of 64. Counted "
       "as chunks:\n"
       "54 D F operations per token. JSON rows have the numbers of the state.",
       bench::bench_states, true},
      {"mixers", "One layer of every mixer of a text against its length, the paper's baselines",
       "Forward, training step and decoding of one layer of equal width, without the feed-forward network "
       "(--block: with it);\n"
       "seconds of decoding are those of one token behind so many others. LaCT also with momentum alone and "
       "with plain\n"
       "gradient descent. --shape knows passes, too: --shape '8192 tokens lact gd training step'.",
       bench::bench_mixers, true, add_block_option},
      {"million", "One layer over 1,048,576 tokens in one chunk, forward and backward, with its memory",
       "Counted: as ttt, and the projections.", bench::bench_million},
      {"plan", "Whether `lact plan` is right about this machine: training steps, predicted and measured",
       "Memory is all that model, optimizer and two steps take beyond what was resident before. The "
       "prediction knows\n"
       "this machine by the profile of one small model, measured at the start for each type. With --threads "
       "1, "
       "turns of\n"
       "other programs do not count.",
       bench::bench_plan},
      {"parallel",
       "Context parallelism at equal threads: two ranks against one process, and the bytes that move",
       "One layer of lm_small's shape over a long text; forward+backward adds up the parameters' gradients, "
       "too. Sums\n"
       "are of 3 d dh numbers (and a few for the momentum) per chunk that is written, and as many backward, "
       "whatever\n"
       "the chunk's length; the halo is the window's keys and values before each part of another rank. "
       "Memory is that\n"
       "of all processes.",
       bench::bench_parallel},
      {"profile", "Where a training step goes, part by part",
       "Counted: the model's own operations of each part; the backward pass twice those of the forward pass.",
       [](bench::Session& session) { bench::bench_profile(session, make_train_step); }}};
  return all;
}

void add_options(CLI::App& verb, BenchArguments& arguments, bool plots) {
  auto& options = arguments.options;
  verb.add_flag("--json", arguments.json, "Print for a program to read");
  verb.add_flag("--quick", options.quick,
                "Small shapes in seconds: shows that all runs, says nothing about speed");
  verb.add_option("--record", arguments.record, "Also write machine, command and results to this JSON file")
      ->check(output_file_in_new_folder());
  if (plots)
    verb.add_option("-o,--output", arguments.output,
                    "Draw the figures into this SVG file; several areas add their names to it")
        ->check(output_file_in_new_folder());
}

void add_race_options(CLI::App& verb, BenchArguments& arguments) {
  auto& options = arguments.options;
  add_number(verb, "--repeats", options.race.repeats, "Runs of each contender, after one to warm up",
             Limits{1, 1000})
      ->capture_default_str();
  add_number(verb, "--budget", options.race.budget, "Seconds after which a contender does not run again",
             Limits{0.001, 1e6})
      ->capture_default_str();
  verb.add_option("--shape", options.shapes, "Only shapes whose name contains this; may be given repeatedly")
      ->allow_extra_args(false);
  verb.add_flag("--no-peers", arguments.no_peers, "Do not compare with PyTorch");
  verb.add_option("--peers", options.peer.folder, "Folder of serve.py; by default bench/peers is looked for");
  verb.add_option("--python", options.peer.python, "Python that has PyTorch")->capture_default_str();
}

/// What `lact bench parallel` starts; not for people.
void add_rank(CLI::App& group) {
  auto* verb = group.add_subcommand(bench::kTeamMember, "A process of bench parallel")->group("");
  struct Words {
    int socket = -1;
    bool quick = false;
  };
  const auto words = std::make_shared<Words>();
  add_number(*verb, "--socket", words->socket, "Where it is asked", Limits{0, 1 << 20})->required();
  verb->add_flag("--quick", words->quick, "Small shapes");
  verb->callback([words] {
    keep_freed_memory();
    bench::run_parallel_rank(words->socket, words->quick);
  });
}

void run_bench(const std::vector<const Area*>& chosen, BenchArguments arguments, int& exit_code) {
  needs_processor("bench");
  LACT_CHECK(ops::fused_paths(), "[bench] --reference means nothing here: both paths are measured");
  arguments.options.peers = !arguments.no_peers && !chosen.empty();
  make_places(arguments);
  keep_freed_memory();
  bench::Session session(arguments.options);
  // At once, so that a place that cannot be written is known before the work is done.
  record(session, arguments);
  session.on_row = [&](const bench::Result& row) {
    log::info("{}", line(row));
    record(session, arguments);
  };
  for (const Area* area : chosen) area->run(session);
  LACT_CHECK(chosen.empty() || !session.results().empty(), "[bench] no shape of {} contains \"{}\"",
             chosen.size() == 1 ? chosen[0]->name : "any area",
             fmt::join(arguments.options.shapes, "\" or \""));
  record(session, arguments);
  report(session, arguments);
  if (session.any_wrong()) exit_code = 1;
}

}  // namespace

void add_bench(CLI::App& program, int& exit_code) {
  auto* group =
      program.add_subcommand("bench", "How fast everything is: shares of the machine's peak, and PyTorch");
  group->require_subcommand(0, 1);
  show_help_when_alone(*group);
  group->fallthrough();
  group->footer(
      "Every answer is compared with the reference first: a wrong one prints no speed, and the exit code is "
      "1.\n"
      "Contenders take turns; times are the best of all runs. See docs/benchmarks.md.\n\n"
      "Example: lact bench ttt --shape 256x256\n"
      "         lact bench all --json --record results.json --output chunks.svg");
  const auto add = [&](const std::string& name, const std::string& help, std::vector<const Area*> chosen,
                       bool plots) {
    auto* verb = group->add_subcommand(name, help);
    const auto arguments = std::make_shared<BenchArguments>();
    add_options(*verb, *arguments, plots);
    if (!chosen.empty()) add_race_options(*verb, *arguments);
    if (chosen.size() == 1 && chosen[0]->add_own_options) chosen[0]->add_own_options(*verb, *arguments);
    if (chosen.size() == 1) verb->footer(chosen[0]->footer);
    verb->callback([chosen, arguments, &exit_code] { run_bench(chosen, *arguments, exit_code); });
  };
  add("machine", "Peak of each kind of instruction, and memory bandwidth", {}, false);
  std::vector<const Area*> all;
  for (const Area& area : areas()) {
    add(area.name, area.help, {&area}, area.plots);
    all.push_back(&area);
  }
  add("all", "Everything, one after the other", all, true);
  add_rank(*group);
}

}  // namespace lact::cli
