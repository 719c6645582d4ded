// `lact nvs eval`: several view-synthesis models side by side, against the number of views they read.
#include "lact/cli/nvs/eval.h"

#include <filesystem>
#include <set>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/progress.h"
#include "lact/cli/fields.h"
#include "lact/cli/numbers.h"
#include "lact/cli/nvs/nvs.h"
#include "lact/cli/outputs.h"
#include "lact/data/views/preprocess.h"
#include "lact/io/png.h"
#include "lact/models/nvs/folder.h"

namespace lact::cli {

namespace {

/// Of each group, in the report; all are files.
constexpr int64_t kSheetsInReport = 4;
constexpr int64_t kUsualScenes = 8;

struct NvsEvalArguments {
  std::vector<std::string> models, photos;
  std::optional<int64_t> scenes;
  data::SceneSourceConfig meshes;
  data::CaptureOptions reading;
  data::TestOptions test;
  tasks::nvs::LoadOptions load;
  std::string protocol, size, frame, lpips, network = "squeeze", output;
  bool json = false;
};

/// What the protocol says, but for the numbers that the user gave.
void settle_protocol(const CLI::App& verb, const NvsEvalArguments& arguments, NvsEvaluation& result) {
  result.test = arguments.test;
  if (arguments.protocol.empty()) return;
  result.protocol.emplace();
  options::read(options::Json(arguments.protocol), *result.protocol, "protocol");
  const bool rendered = arguments.scenes.value_or(0) > 0 || !arguments.meshes.meshes.empty();
  LACT_CHECK(*result.protocol != data::TestProtocol::dl3dv || (!rendered && !arguments.photos.empty()),
             "[eval] --protocol dl3dv is for photos alone: name captures by --photos");
  data::TestOptions test = data::protocol_options(*result.protocol);
  if (verb.get_option("--counts")->count() > 0) test.counts = arguments.test.counts;
  if (verb.get_option("--targets")->count() > 0) test.targets = arguments.test.targets;
  test.seed = arguments.test.seed;
  result.test = test;
}

/// The pictures have the size of the first model's training unless one is given.
std::vector<tasks::nvs::NamedNvs> load_models(const NvsEvalArguments& arguments, NvsEvaluation& result) {
  auto folders = named_folders(arguments.models);
  if (folders.empty()) folders.push_back({"shipped weights", ""});
  std::vector<tasks::nvs::NamedNvs> models;
  for (const auto& [name, folder] : folders) {
    const auto loaded = tasks::nvs::load(folder, arguments.load);
    if (models.empty()) {
      const io::ImageSize size = view_size_for(arguments.size, loaded);
      result.test.height = size.height;
      result.test.width = size.width;
    }
    const auto& config = loaded.model->config();
    data::check_patches(result.test.height, result.test.width, config.decoded_patch());
    const data::FrameChoice frame = frame_for(arguments.frame, loaded);
    int64_t parameters = 0;
    for (const auto& weight : loaded.model->parameters()) parameters += weight.numel();
    result.models.push_back(
        {name, loaded.path, config.mixer.text(), std::string(options::word_of(frame)), parameters});
    models.push_back({name, loaded.model, frame});
  }
  return models;
}

std::vector<data::TestCase> test_cases(const NvsEvalArguments& arguments, const data::TestOptions& test) {
  const bool others = !arguments.photos.empty() || !arguments.meshes.meshes.empty();
  auto cases = data::procedural_cases(arguments.scenes.value_or(others ? 0 : kUsualScenes), test);
  const auto append = [&](std::vector<data::TestCase> more) {
    cases.insert(cases.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  if (!arguments.meshes.meshes.empty()) append(data::mesh_cases(arguments.meshes, test));
  append(data::photo_cases(arguments.photos, arguments.reading, test));
  for (const auto& one : cases)
    if (!one.left_out.empty())
      log::info("{}: too few views to read {} of them, which is left out", one.name,
                fmt::join(one.left_out, " or "));
  return cases;
}

/// Writes the sheets while they come, and keeps the first of each group for the report.
class SheetWriter {
 public:
  SheetWriter(const std::string& folder, std::vector<ComparisonSheet>& sheets)
      : folder_(folder), sheets_(sheets) {}

  void operator()(const data::TestCase& scene, const at::Tensor& image) {
    const std::string stem =
        word_for_file(scene.group == scene.name ? scene.group : scene.group + "_" + scene.name);
    std::string file = stem + ".png";
    for (int i = 2; !files_.insert(file).second; ++i) file = fmt::format("{}_{}.png", stem, i);
    io::write_png((std::filesystem::path(folder_) / file).string(), image);
    const bool shown = std::count_if(sheets_.begin(), sheets_.end(), [&](const auto& other) {
                         return other.group == scene.group;
                       }) < kSheetsInReport;
    sheets_.push_back({scene.group, scene.name, file, scene.counts, shown ? image : at::Tensor()});
  }

 private:
  std::string folder_;
  std::vector<ComparisonSheet>& sheets_;
  std::set<std::string> files_;
};

void run_nvs_eval(const CLI::App& verb, const NvsEvalArguments& arguments) {
  NvsEvaluation result;
  settle_protocol(verb, arguments, result);
  const auto models = load_models(arguments, result);
  std::optional<models::Lpips> lpips;
  if (arguments.lpips.empty()) {
    log::info("LPIPS is left out: name the folder of its weights by --lpips");
  } else {
    result.lpips.emplace();
    options::read(options::Json(arguments.network), *result.lpips, "network");
    lpips.emplace(*result.lpips, arguments.lpips);
  }
  const auto cases = test_cases(arguments, result.test);
  if (!arguments.output.empty()) create_output_folder(arguments.output);

  tasks::nvs::ViewScoresOptions options;
  std::optional<Progress> progress;
  options.lpips = lpips ? &*lpips : nullptr;
  options.on_progress = [&](int64_t done, int64_t total, const std::string& scene) {
    if (!progress) progress.emplace("views", total);
    progress->update(done, scene);
  };
  if (!arguments.output.empty()) options.on_sheet = SheetWriter(arguments.output, result.sheets);
  result.scores = tasks::nvs::view_scores(models, cases, options);
  progress.reset();

  const Evaluation shown = show(result);
  if (!arguments.output.empty()) {
    write_evaluation(shown, arguments.output, "views");
    const std::string report = (std::filesystem::path(arguments.output) / "report.html").string();
    write_nvs_report(result, report);
    log::info("wrote {} and {} comparison sheets", report, result.sheets.size());
  }
  print_evaluation(shown, arguments.json);
}

void add_scene_options(CLI::App& verb, NvsEvalArguments& arguments) {
  const char* const rendered = "Rendered scenes";
  add_number(verb, "--scenes", arguments.scenes,
             "scenes made of a seed, never trained on; 8 where no photos or meshes are given", Limits{0, 1e6})
      ->group(rendered);
  auto* meshes = verb.add_option("--meshes", arguments.meshes.meshes,
                                 "OBJ, glTF, GLB or PLY files or folders; those held out are shown")
                     ->group(rendered);
  const auto of_meshes = [&](const char* name, auto& value, const char* help) {
    return verb.add_option(name, value, help)->group(rendered)->needs(meshes);
  };
  of_meshes("--y-up", arguments.meshes.y_up,
            "meshes with one of these in their name have y up; the others z, but glTF always y");
  of_meshes("--holdout", arguments.meshes.holdout, "meshes that training keeps for validation")
      ->check(within_usual<int64_t>())
      ->capture_default_str();
  of_meshes("--holdout-names", arguments.meshes.holdout_names,
            "instead: meshes with one of these in their name are kept for validation");
  auto* photos =
      verb.add_option("--photos", arguments.photos, "folders or camera files, in any of the formats")
          ->group("Photos");
  const std::vector<CLI::Option*> before = verb.get_options();
  add_fields(verb, arguments.reading, "Photos");
  for (auto* option : verb.get_options())
    if (std::find(before.begin(), before.end(), option) == before.end()) option->needs(photos);
}

}  // namespace

void add_nvs_eval(CLI::App& task) {
  const auto arguments = std::make_shared<NvsEvalArguments>();
  auto* verb =
      task.add_subcommand("eval", "PSNR, SSIM and LPIPS of unseen views against the number of views read");
  verb->footer(
      "Example: lact nvs eval --model lact=run --model full=baseline --counts 2,4,8,16,32 -o out\n"
      "         lact nvs eval --model run --meshes meshes --y-up classic --lpips weights -o out\n"
      "         lact nvs eval --model run --photos fox --photos bust/sparse/0 --size 128x96 -o out\n"
      "         lact nvs eval --model run --protocol dl3dv --photos fox --photos bust --lpips weights "
      "--network vgg");
  verb->add_option(
          "-m,--model", arguments->models,
          "Model folder, or NAME=FOLDER; may be given repeatedly. By default the weights that come with lact")
      ->allow_extra_args(false);
  verb->add_option("--size", arguments->size,
                   "pixels of a side, or HEIGHTxWIDTH; by default as the first model was trained, or 256");
  add_number(*verb, "--counts", arguments->test.counts, "numbers of input views", Limits{1, 4096})
      ->delimiter(',')
      ->capture_default_str();
  add_number(*verb, "--targets", arguments->test.targets,
             "views to render of each scene; of photos at most every 8th, unless the protocol is gso",
             Limits{1, 4096})
      ->capture_default_str();
  add_selection_option(*verb, arguments->test.inputs);
  verb->add_option(
          "--protocol", arguments->protocol,
          "The paper's: gso (objects: 8 random views are guessed from 4 to 48 other random ones) or "
          "dl3dv (photos:\nevery 8th is guessed from 16 to 128 others, spread by kmeans); a table of "
          "all scenes and their mean.\n--counts and --targets still count")
      ->excludes("--selection");
  verb->add_option(
      "--frame", arguments->frame,
      "coordinates of cameras: given, mean_pose or object; by default those of the model's training");
  add_number(*verb, "--seed", arguments->test.seed, "of scenes and choices", kAny)->capture_default_str();
  add_fields(*verb, arguments->load);
  auto* lpips =
      verb->add_option("--lpips", arguments->lpips,
                       "Folder of the weights of LPIPS: torchvision's network (vgg16-*.pth, ...) and "
                       "LPIPS's own layers\n(vgg.pth, ...), or safetensors of both");
  verb->add_option("--network", arguments->network, "of LPIPS: squeeze, alex or vgg")
      ->capture_default_str()
      ->needs(lpips);
  verb->add_option("-o,--output", arguments->output,
                   "Folder for sheets (PNG), plots (SVG), figures (JSON) and a page (HTML)")
      ->check(output_folder());
  verb->add_flag("--json", arguments->json, "Print for a program to read");
  add_scene_options(*verb, *arguments);
  verb->callback([verb, arguments] { run_nvs_eval(*verb, *arguments); });
}

}  // namespace lact::cli
