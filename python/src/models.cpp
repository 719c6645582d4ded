// torch.classes.lact.*: the models with their files. The Python package wraps these; nothing here is a second
// implementation.
#include <torch/custom_class.h>
#include <torch/library.h>

#include <dlfcn.h>

#include <filesystem>

#include "lact/base/data_folder.h"
#include "lact/io/atomic_file.h"
#include "lact/models/common/state_file.h"
#include "lact/models/lm/folder.h"
#include "lact/models/lm/loss.h"
#include "lact/models/nvs/folder.h"
#include "lact/models/nvs/scene_file.h"
#include "lact/models/presets.h"
#include "lact/ops/dispatch/device.h"
#include "lact/tasks/lm/session.h"
#include "lact/tasks/lm/training/run.h"
#include "lact/tasks/nvs/load.h"
#include "parsed.h"

namespace lact::python {

namespace {

using NamedTensors = c10::Dict<std::string, at::Tensor>;

NamedTensors parameters_of(const torch::nn::Module& module) {
  NamedTensors named;
  for (const auto& item : module.named_parameters()) named.insert(item.key(), item.value());
  return named;
}

/// A text may end within a character: bytes, and the words are Python's affair.
at::Tensor bytes_of(const std::string& text) {
  const at::Tensor bytes = at::empty({int64_t(text.size())}, at::kByte);
  std::copy(text.begin(), text.end(), bytes.data_ptr<uint8_t>());
  return bytes;
}

std::vector<int64_t> list_of(const at::Tensor& ids) {
  const at::Tensor flat = ids.to(at::kCPU, at::kLong).contiguous().flatten();
  return {flat.data_ptr<int64_t>(), flat.data_ptr<int64_t>() + flat.numel()};
}

/// "" is what comes with the library: the program of this process is Python, so that is looked for above this
/// file.
std::string or_shipped(const std::string& folder, const char* name) {
  if (!folder.empty()) return folder;
  Dl_info here{};
  if (dladdr(reinterpret_cast<const void*>(&bytes_of), &here) == 0 || here.dli_fname == nullptr) return "";
  std::error_code ignored;
  const auto file = std::filesystem::weakly_canonical(here.dli_fname, ignored);
  return find_data_folder_above(file.string(), {name, name, "config.json"});
}

// --- Language ------------------------------------------------------------------------------------------

/// A text that goes on: what the model remembers of it.
struct Text : torch::CustomClassHolder {
  explicit Text(tasks::lm::Session opened) : session(std::move(opened)) {}

  void read(const at::Tensor& ids) { session.stream().read(list_of(ids)); }
  int64_t read_file(const std::string& path) { return int64_t(session.read_file(path)); }
  at::Tensor next_logits() { return session.stream().next_logits(); }
  /// Tokens, bytes, and why it ended.
  std::tuple<std::vector<int64_t>, at::Tensor, std::string> write(const std::string& prompt,
                                                                  const std::string& options) {
    const auto written = session.write(prompt, parsed<models::GenerateOptions>(options, "options"));
    return {written.tokens, bytes_of(written.bytes), std::string(options::word_of(written.reason))};
  }
  void save(const std::string& path) { session.save(path); }
  int64_t position() { return session.position(); }
  int64_t memory_bytes() { return session.memory_bytes(); }
  NamedTensors tensors() {
    NamedTensors named;
    for (const auto& [name, tensor] : models::tensors_of(session.stream().state()))
      named.insert(name, tensor);
    return named;
  }

  tasks::lm::Session session;
};

struct LanguageModel : torch::CustomClassHolder {
  LanguageModel(const std::string& folder, const std::string& options, bool trainable)
      : loaded(trainable ? trainable_model(folder, options)
                         : tasks::lm::load(or_shipped(folder, "weights/lm"),
                                           parsed<tasks::lm::LoadOptions>(options, "options"))) {}
  explicit LanguageModel(tasks::lm::Loaded made) : loaded(std::move(made)) {}

  /// Fresh weights from LibTorch's generator; the tokenizer is "bytes" unless options name another.
  static c10::intrusive_ptr<LanguageModel> from_config(const std::string& config,
                                                       const std::vector<std::string>& changes,
                                                       const std::string& options) {
    const auto chosen = models::resolve_config(config, changes);
    LACT_CHECK(models::task_of(chosen) == models::Task::lm, "[lm] {} is not a language model", config);
    const auto load_options = parsed<tasks::lm::LoadOptions>(options, "options");
    tasks::lm::Loaded made;
    made.tokenizer = data::read_tokenizer(load_options.tokenizer.empty() ? "bytes" : load_options.tokenizer);
    made.model = std::make_shared<models::LanguageModel>(std::get<models::LmConfig>(chosen));
    prepare(made, load_options);
    return c10::make_intrusive<LanguageModel>(std::move(made));
  }

  std::string config() { return models::config_text(loaded.model->config()); }
  NamedTensors parameters() { return parameters_of(*loaded.model); }
  at::Tensor logits(const at::Tensor& ids) { return loaded.model->forward(ids); }
  /// Cross entropy of every token after the first, [B, T - 1].
  at::Tensor losses(const at::Tensor& ids) {
    const int64_t length = ids.size(1) - 1;
    return models::next_token_losses(*loaded.model, loaded.model->hidden(ids.narrow(1, 0, length)),
                                     ids.narrow(1, 1, length));
  }
  at::Tensor logits_of_documents(const at::Tensor& ids, const std::vector<int64_t>& lengths) {
    return loaded.model->logits(loaded.model->hidden_of_documents(ids, lengths));
  }

  std::vector<int64_t> encode(const std::string& text) {
    const auto tokens = loaded.tokenizer->encode(text);
    return {tokens.begin(), tokens.end()};
  }
  std::vector<int64_t> encode_continuation(const std::string& text) {
    const auto tokens = loaded.tokenizer->encode_continuation(text);
    return {tokens.begin(), tokens.end()};
  }
  at::Tensor decode(const at::Tensor& ids) {
    const auto list = list_of(ids);
    return bytes_of(loaded.tokenizer->decode({list.begin(), list.end()}));
  }

  /// "": a text of which nothing was read.
  c10::intrusive_ptr<Text> open_text(const std::string& memory_file) {
    return c10::make_intrusive<Text>(tasks::lm::Session(loaded, memory_file));
  }
  c10::intrusive_ptr<Text> copy_text(const c10::intrusive_ptr<Text>& text) {
    models::LmStream& stream = text->session.stream();
    LACT_CHECK(&stream.model() == loaded.model.get(), "[lm] this state belongs to another model");
    auto copy = c10::make_intrusive<Text>(tasks::lm::Session(loaded));
    std::unique_ptr<State> state = stream.state().clone();
    copy->session.stream() = models::LmStream(
        loaded.model, std::unique_ptr<models::LmState>(static_cast<models::LmState*>(state.release())),
        stream.last_hidden());
    return copy;
  }
  void save(const std::string& folder) {
    models::save_lm(folder, *loaded.model);
    const std::string tokenizer = loaded.tokenizer->model_bytes();
    if (tokenizer.empty()) return;
    io::write_file_atomically((std::filesystem::path(folder) / "tokenizer.model").string(),
                              [&](io::FileWriter& out) { out.write(tokenizer); });
  }

  tasks::lm::Loaded loaded;

 private:
  static void prepare(tasks::lm::Loaded& made, const tasks::lm::LoadOptions& options) {
    LACT_CHECK(options.weights == ops::WeightFormat::automatic || options.weights == ops::WeightFormat::f32,
               "[lm] weights as {} cannot be trained, expected f32", options::word_of(options.weights));
    LACT_CHECK(options.cache == ops::CacheFormat::automatic,
               "[lm] a cache of {} is for models that are not trained", options::word_of(options.cache));
    made.model->set_compute_type(ops::compute_type(options.precision));
    made.model->to(ops::compute_device());
  }
  static tasks::lm::Loaded trainable_model(const std::string& folder, const std::string& json) {
    const auto options = parsed<tasks::lm::LoadOptions>(json, "options");
    tasks::lm::Loaded made;
    made.path = folder;
    made.model = models::load_lm(folder);
    const auto own = std::filesystem::path(folder) / "tokenizer.model";
    made.tokenizer = data::read_tokenizer(!options.tokenizer.empty()     ? options.tokenizer
                                          : std::filesystem::exists(own) ? own.string()
                                                                         : "bytes");
    prepare(made, options);
    return made;
  }
};

/// The batches of a run of `lact lm train`, by number.
struct TrainingText : torch::CustomClassHolder {
  explicit TrainingText(const std::string& run_folder)
      : run(train::read_run<tasks::lm::Run>(run_folder)),
        sources(tasks::lm::open_sources(run.data, run.training.seed)) {}

  /// [batch, length + 1]
  at::Tensor batch(int64_t index) {
    const int64_t rows = run.batches.batch, length = run.batches.length + 1;
    LACT_CHECK(index >= 0, "[train] batch {}, expected 0 or more", index);
    const at::Tensor ids = at::empty({rows, length}, at::kLong);
    for (int64_t i = 0; i < rows; ++i)
      sources.train->sequence(index * rows + i, length, ids[i].data_ptr<int64_t>());
    return ids;
  }
  std::string settings() { return options::write(run).dump(); }

  tasks::lm::Run run;
  tasks::lm::Sources sources;
};

// --- View synthesis ------------------------------------------------------------------------------------

struct Scene : torch::CustomClassHolder {
  Scene(models::NvsScene read, tasks::nvs::Loaded with) : scene(std::move(read)), loaded(std::move(with)) {}

  at::Tensor render(const at::Tensor& intrinsics, const at::Tensor& camera_to_world, int64_t height,
                    int64_t width) {
    return loaded.model->render(*scene.state, intrinsics, camera_to_world, height, width);
  }
  void save(const std::string& path) { models::save_scene(path, scene, loaded.fingerprint); }
  at::Tensor intrinsics() { return scene.intrinsics; }
  at::Tensor camera_to_world() { return scene.camera_to_world; }

  models::NvsScene scene;
  tasks::nvs::Loaded loaded;
};

struct ViewModel : torch::CustomClassHolder {
  ViewModel(const std::string& folder_or_file, const std::string& options)
      : loaded(tasks::nvs::load(or_shipped(folder_or_file, "weights/nvs"),
                                parsed<tasks::nvs::LoadOptions>(options, "options"))) {}

  std::string config() { return models::config_text(loaded.model->config()); }
  NamedTensors parameters() { return parameters_of(*loaded.model); }
  /// images [B, V, 3, H, W], cameras of V + T views -> [B, T, 3, H, W]; differentiable.
  at::Tensor predict(const at::Tensor& images, const at::Tensor& intrinsics,
                     const at::Tensor& camera_to_world) {
    return loaded.model->predict({images, intrinsics, camera_to_world}).views;
  }
  c10::intrusive_ptr<Scene> reconstruct(const std::vector<at::Tensor>& images, const at::Tensor& intrinsics,
                                        const at::Tensor& camera_to_world) {
    models::NvsScene scene;
    scene.state = loaded.model->reconstruct(images, intrinsics, camera_to_world);
    scene.intrinsics = intrinsics, scene.camera_to_world = camera_to_world;
    for (const auto& image : images) scene.sizes.push_back({image.size(1), image.size(2)});
    scene.model_path = loaded.path;
    return c10::make_intrusive<Scene>(std::move(scene), loaded);
  }
  c10::intrusive_ptr<Scene> load_scene(const std::string& path) {
    return c10::make_intrusive<Scene>(models::load_scene(path, *loaded.model, loaded.fingerprint), loaded);
  }

  tasks::nvs::Loaded loaded;
};

}  // namespace

TORCH_LIBRARY_FRAGMENT(lact, library) {
  library.class_<Text>("Text")
      .def("read", &Text::read)
      .def("read_file", &Text::read_file)
      .def("next_logits", &Text::next_logits)
      .def("write", &Text::write)
      .def("save", &Text::save)
      .def("position", &Text::position)
      .def("memory_bytes", &Text::memory_bytes)
      .def("tensors", &Text::tensors);
  library.class_<LanguageModel>("LanguageModel")
      .def(torch::init<std::string, std::string, bool>())
      .def_static("from_config", &LanguageModel::from_config)
      .def("config", &LanguageModel::config)
      .def("parameters", &LanguageModel::parameters)
      .def("logits", &LanguageModel::logits)
      .def("losses", &LanguageModel::losses)
      .def("logits_of_documents", &LanguageModel::logits_of_documents)
      .def("encode", &LanguageModel::encode)
      .def("encode_continuation", &LanguageModel::encode_continuation)
      .def("decode", &LanguageModel::decode)
      .def("open_text", &LanguageModel::open_text)
      .def("copy_text", &LanguageModel::copy_text)
      .def("save", &LanguageModel::save);
  library.class_<TrainingText>("TrainingText")
      .def(torch::init<std::string>())
      .def("batch", &TrainingText::batch)
      .def("settings", &TrainingText::settings);
  library.class_<Scene>("Scene")
      .def("render", &Scene::render)
      .def("save", &Scene::save)
      .def("intrinsics", &Scene::intrinsics)
      .def("camera_to_world", &Scene::camera_to_world);
  library.class_<ViewModel>("ViewModel")
      .def(torch::init<std::string, std::string>())
      .def("config", &ViewModel::config)
      .def("parameters", &ViewModel::parameters)
      .def("predict", &ViewModel::predict)
      .def("reconstruct", &ViewModel::reconstruct)
      .def("load_scene", &ViewModel::load_scene);
}

}  // namespace lact::python
