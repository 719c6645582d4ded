// `lact nvs eval`: several view-synthesis models side by side, against the number of views they read.
#include "lact/cli/nvs_eval.h"

#include <filesystem>
#include <set>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/progress.h"
#include "lact/cli/fields.h"
#include "lact/cli/nvs.h"
#include "lact/data/views/preprocess.h"
#include "lact/io/png.h"
#include "lact/models/nvs/folder.h"

namespace lact::cli {

namespace {

/// Of each group, in the report; all are files.
constexpr int64_t kSheetsInReport = 4;
constexpr int64_t kUsualScenes = 8;

struct NvsEvalWords {
  std::vector<std::string> models, photos;
  std::optional<int64_t> scenes;
  data::SceneSourceConfig meshes;
  data::SceneOptions reading;
  data::TestOptions test;
  std::string size, frame, precision = "f32", lpips, network = "squeeze", output;
  bool json = false;
};

/// The pictures have the size of the first model's training unless one is given.
std::vector<eval::NamedNvs> load_models(const NvsEvalWords& words, NvsEvaluation& result) {
  auto folders = named_folders(words.models);
  if (folders.empty()) folders.push_back({"shipped weights", ""});
  std::vector<eval::NamedNvs> models;
  for (const auto& [name, folder] : folders) {
    const LoadedNvs loaded = load_nvs_model({folder, words.precision});
    if (models.empty()) {
      const models::ViewSize size = view_size_for(words.size, loaded);
      result.test.height = size.height;
      result.test.width = size.width;
    }
    const auto& config = loaded.model->config();
    data::check_patches(result.test.height, result.test.width, config.patch_size);
    const data::FrameChoice frame = frame_for(words.frame, loaded);
    int64_t parameters = 0;
    for (const auto& weight : loaded.model->parameters()) parameters += weight.numel();
    result.models.push_back({name, loaded.path, std::string(options::word_of(config.mixer)),
                             std::string(options::word_of(frame)), parameters});
    models.push_back({name, loaded.model, frame});
  }
  return models;
}

std::vector<data::TestCase> test_cases(const NvsEvalWords& words, const data::TestOptions& test) {
  const bool others = !words.photos.empty() || !words.meshes.meshes.empty();
  auto cases = data::procedural_cases(words.scenes.value_or(others ? 0 : kUsualScenes), test);
  const auto append = [&](std::vector<data::TestCase> more) {
    cases.insert(cases.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  if (!words.meshes.meshes.empty()) append(data::mesh_cases(words.meshes, test));
  append(data::photo_cases(words.photos, words.reading, test));
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

void run_nvs_eval(const NvsEvalWords& words) {
  NvsEvaluation result;
  result.test = words.test;
  const auto models = load_models(words, result);
  std::optional<models::Lpips> lpips;
  if (words.lpips.empty()) {
    log::info("LPIPS is left out: name the folder of its weights by --lpips");
  } else {
    result.lpips.emplace();
    options::read(options::Json(words.network), *result.lpips, "network");
    lpips.emplace(*result.lpips, words.lpips);
  }
  const auto cases = test_cases(words, result.test);
  if (!words.output.empty()) create_output_folder(words.output);

  eval::ViewScoresOptions options;
  std::optional<Progress> progress;
  options.lpips = lpips ? &*lpips : nullptr;
  options.on_progress = [&](int64_t done, int64_t total, const std::string& scene) {
    if (!progress) progress.emplace("views", total);
    progress->update(done, scene);
  };
  if (!words.output.empty()) options.on_sheet = SheetWriter(words.output, result.sheets);
  result.scores = eval::view_scores(models, cases, options);
  progress.reset();

  const Evaluation shown = show(result);
  if (!words.output.empty()) {
    write_evaluation(shown, words.output, "views");
    const std::string report = (std::filesystem::path(words.output) / "report.html").string();
    write_nvs_report(result, report);
    log::info("wrote {} and {} comparison sheets", report, result.sheets.size());
  }
  print_evaluation(shown, words.json);
}

void add_scene_options(CLI::App& verb, NvsEvalWords& words) {
  const char* const rendered = "Rendered scenes";
  verb.add_option("--scenes", words.scenes,
                  "scenes made of a seed, never trained on; 8 where no photos or meshes are given")
      ->group(rendered);
  auto* meshes =
      verb.add_option("--meshes", words.meshes.meshes, "OBJ files or folders; those held out are shown")
          ->group(rendered);
  const auto of_meshes = [&](const char* name, auto& value, const char* help) {
    return verb.add_option(name, value, help)->group(rendered)->needs(meshes);
  };
  of_meshes("--y-up", words.meshes.y_up, "meshes with one of these in their name have y up; the others z");
  of_meshes("--holdout", words.meshes.holdout, "meshes that training keeps for validation")
      ->capture_default_str();
  of_meshes("--holdout-names", words.meshes.holdout_names,
            "instead: meshes with one of these in their name are kept for validation");
  auto* photos = verb.add_option("--photos", words.photos, "folders or camera files, in any of the formats")
                     ->group("Photos");
  const std::vector<CLI::Option*> before = verb.get_options();
  add_fields(verb, words.reading, "Photos");
  for (auto* option : verb.get_options())
    if (std::find(before.begin(), before.end(), option) == before.end()) option->needs(photos);
}

}  // namespace

void add_nvs_eval(CLI::App& task) {
  const auto words = std::make_shared<NvsEvalWords>();
  auto* verb =
      task.add_subcommand("eval", "PSNR, SSIM and LPIPS of unseen views against the number of views read");
  verb->footer(
      "Example: lact nvs eval --model lact=run --model full=baseline --counts 2,4,8,16,32 -o out\n"
      "         lact nvs eval --model run --meshes meshes --y-up classic --lpips weights -o out\n"
      "         lact nvs eval --model run --photos fox --photos bust/sparse/0 --size 128x96 -o out");
  verb->add_option(
          "-m,--model", words->models,
          "Model folder, or NAME=FOLDER; may be given repeatedly. By default the weights that come with lact")
      ->allow_extra_args(false);
  verb->add_option("--size", words->size,
                   "pixels of a side, or HEIGHTxWIDTH; by default as the first model was trained, or 256");
  verb->add_option("--counts", words->test.counts, "numbers of input views")
      ->delimiter(',')
      ->capture_default_str();
  verb->add_option("--targets", words->test.targets,
                   "views to render of each scene; of photos at most every 8th")
      ->capture_default_str();
  add_selection_option(*verb, words->test.inputs);
  verb->add_option(
      "--frame", words->frame,
      "coordinates of cameras: given, mean_pose or object; by default those of the model's training");
  verb->add_option("--seed", words->test.seed, "of scenes and choices")->capture_default_str();
  verb->add_option("--precision", words->precision, "f32 or bf16")->capture_default_str();
  auto* lpips = verb->add_option("--lpips", words->lpips, "Folder of the weights of LPIPS");
  verb->add_option("--network", words->network, "of LPIPS: squeeze or alex")
      ->capture_default_str()
      ->needs(lpips);
  verb->add_option("-o,--output", words->output,
                   "Folder for sheets (PNG), plots (SVG), figures (JSON) and a page (HTML)");
  verb->add_flag("--json", words->json, "Print for a program to read");
  add_scene_options(*verb, *words);
  verb->callback([words] { run_nvs_eval(*words); });
}

}  // namespace lact::cli
