#include "lact/models/video/authors_config.h"

#include "lact/base/error.h"
#include "lact/models/video/weights.h"

namespace lact::models {

using options::Json;

namespace {

/// Takes a key out of an object; null if it is not there.
Json take(Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return nullptr;
  Json value = std::move(*found);
  object.erase(key);
  return value;
}

/// Takes a key whose only value here is `expected`.
void take_fixed(Json& object, const std::string& path, const char* key, const Json& expected,
                const char* why) {
  const Json value = take(object, key);
  LACT_CHECK(value.is_null() || value == expected, "{}.{} is {}, expected {}: {}", path, key, value.dump(),
             expected.dump(), why);
}

void take_class(Json& object, const std::string& path, const std::string& name) {
  const Json value = take(object, "class_name");
  LACT_CHECK(value.is_string() && value.get<std::string>().ends_with("." + name),
             "{}.class_name is {}, expected a {}", path, value.dump(), name);
}

/// What their layer has beside the arguments that make its numbers: how it cuts a sequence.
struct AuthorsCut {
  int64_t local_window_size = 4680;
  int64_t kv_cache_size = -1;
  int64_t update_every = -1;
  int64_t ar_window_f = 3;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("local_window_size", local_window_size, "tokens of a chunk");
    field("kv_cache_size", kv_cache_size, "tokens of the clean chunk that a noisy one sees; -1 is all");
    field("update_every", update_every, "tokens from one clean chunk to the next, its noisy copies included");
    field("ar_window_f", ar_window_f, "latent frames of a chunk");
  }
};

AuthorsVideoLayer read_layer(Json json, const std::string& path, AuthorsCut& cut) {
  take_class(json, path, "ARFastWeightSwiGLU");
  take_fixed(json, path, "window_size", {-1, -1}, "attention sees all of its chunk");
  take_fixed(json, path, "w_init", "clean", "initial fast weights are drawn");
  take_fixed(json, path, "lr_parameterization", "mamba", "rates are a softplus");
  take_fixed(json, path, "no_time_rope", false, "the memory's q and k have the rotary embedding of time");
  take_fixed(json, path, "eps", 1e-6, "as Wan's norms");
  for (const char* without_effect : {"batch_size", "n_latent_f"}) take(json, without_effect);
  Json about_cut = Json::object();
  cut.visit([&](const char* key, auto&, const char*) {
    if (json.contains(key)) about_cut[key] = take(json, key);
  });
  options::read(about_cut, cut, path);

  AuthorsVideoLayer layer;
  layer.fw_head_dim = 768;
  layer.inter_multi = 2;
  layer.qk_l2_norm = false;
  options::read(json, layer, path);
  if (layer.fw_head_dim < 1 && layer.num_heads > 0) layer.fw_head_dim = layer.dim / layer.num_heads;
  return layer;
}

}  // namespace

bool is_authors_video(const Json& json) {
  return json.contains("model") && json["model"].is_object() && json["model"].contains("diffusion_config");
}

VideoConfig read_authors_video(const Json& file) {
  const std::string path = "model.diffusion_config.model_config";
  const Json& diffusion = file.at("model")["diffusion_config"];
  LACT_CHECK(
      diffusion.is_object() && diffusion.contains("model_config") && diffusion["model_config"].is_object(),
      "{} is missing", path);
  Json json = diffusion["model_config"];
  take_class(json, path, "WanModel");
  take_fixed(json, path, "window_size", {-1, -1}, "attention sees all of its chunk");
  take_fixed(json, path, "qk_norm", true, "q and k are normalised");
  take_fixed(json, path, "cross_attn_norm", true, "the cross attention is normalised");
  const Json full_every = take(json, "attn_every_n_layers");
  Json layers = take(json, "efficient_attn_config");
  WanModel wan;
  options::read(json, wan, path);
  LACT_CHECK(full_every.is_number_integer() && full_every.get<int64_t>() > wan.num_layers,
             "{}.attn_every_n_layers is {}, expected more than num_layers {}: every layer has a memory", path,
             full_every.dump(), wan.num_layers);

  const std::string layer_path = path + ".efficient_attn_config";
  if (layers.is_array()) {
    LACT_CHECK(layers.size() == 1, "{} has {} layers, expected one for all blocks", layer_path,
               layers.size());
    layers = Json(layers[0]);
  }
  LACT_CHECK(layers.is_object(), "{} is {}, expected a layer", layer_path, layers.dump());
  AuthorsCut cut;
  VideoConfig config = translate(wan, read_layer(layers, layer_path, cut));
  config.chunk_frames = cut.ar_window_f;
  config.visible_clean = cut.kv_cache_size;
  const Json frames = file["model"].value("ar_window_size", Json(cut.ar_window_f));
  LACT_CHECK(frames == cut.ar_window_f,
             "model.ar_window_size is {}, expected the ar_window_f of the layer, {}", frames.dump(),
             cut.ar_window_f);
  config.check();
  const int64_t tokens = config.grid().tokens();
  LACT_CHECK(cut.local_window_size == tokens,
             "{}.local_window_size is {}, expected the {} tokens of {} latent frames of {} x {}", layer_path,
             cut.local_window_size, tokens, config.chunk_frames, config.latent_height, config.latent_width);
  LACT_CHECK(cut.update_every == -1 || (cut.update_every % tokens == 0 && cut.update_every >= 2 * tokens),
             "{}.update_every is {}, expected a multiple of local_window_size {} for a clean and its noisy "
             "chunks",
             layer_path, cut.update_every, tokens);
  return config;
}

}  // namespace lact::models
