#include "lact/models/umt5/folder.h"

#include <ATen/ATen.h>

#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/out_of_memory.h"
#include "lact/io/tensor_folder.h"
#include "lact/models/common/checkpoint.h"
#include "lact/models/common/config_file.h"
#include "lact/models/common/foreign.h"
#include "lact/nn/init.h"

namespace lact::models {

namespace {

const char* const kUmt5Type = "umt5_encoder";
const char* const kUmt5Words = "umT5 encoder";
const char* const kEmbedding = "token_embedding.weight";

using Tensors = std::map<std::string, at::Tensor>;

Umt5Config umt5_of_checkpoint(const Tensors& tensors, const std::string& file) {
  const auto size = [&](const std::string& name, int64_t dim) {
    const auto found = tensors.find(name);
    LACT_CHECK(found != tensors.end(), "{}: tensor {} is missing, so it is no {}", file, name, kUmt5Words);
    LACT_CHECK(found->second.dim() == 2, "{}: tensor {} has shape {}, expected a matrix", file, name,
               found->second.sizes().vec());
    return found->second.size(dim);
  };
  Umt5Config config;
  config.vocabulary = size(kEmbedding, 0);
  config.model_dim = size(kEmbedding, 1);
  config.attention_dim = size("blocks.0.attn.q.weight", 0);
  config.hidden_dim = size("blocks.0.ffn.fc1.weight", 0);
  config.buckets = size("blocks.0.pos_embedding.embedding.weight", 0);
  config.num_heads = size("blocks.0.pos_embedding.embedding.weight", 1);
  config.num_layers = 0;
  while (tensors.count(fmt::format("blocks.{}.attn.q.weight", config.num_layers)) > 0) ++config.num_layers;
  try {
    config.check();
  } catch (const Error& error) {
    fail("{}: {}", file, error.what());
  }
  return config;
}

}  // namespace

AuthorsUmt5 read_authors_umt5(const options::Json& json, const std::string& path) {
  AuthorsUmt5 theirs;
  options::read(json, theirs, path);
  return theirs;
}

Umt5Config translate(const AuthorsUmt5& theirs) {
  LACT_CHECK(!theirs.shared_pos,
             "[umt5] a position bias that all blocks share is T5, expected one for each block");
  Umt5Config config;
  config.vocabulary = theirs.vocab;
  config.model_dim = theirs.dim;
  config.attention_dim = theirs.dim_attn;
  config.hidden_dim = theirs.dim_ffn;
  config.num_heads = theirs.num_heads;
  config.num_layers = theirs.num_layers;
  config.buckets = theirs.num_buckets;
  config.furthest = theirs.max_dist;
  return config;
}

std::shared_ptr<Umt5Encoder> load_umt5(const std::string& folder_or_file,
                                       std::optional<at::ScalarType> type) {
  const bool is_file = std::filesystem::is_regular_file(folder_or_file);
  Umt5Config config;
  if (!is_file) config = read_config_of<Umt5Config>(folder_or_file, kUmt5Type, kUmt5Words);
  Tensors tensors = is_file ? read_checkpoint(folder_or_file, kEmbedding, kUmt5Words)
                            : io::read_tensor_folder(folder_or_file);
  if (is_file) config = umt5_of_checkpoint(tensors, folder_or_file);
  const auto embedding = tensors.find(kEmbedding);
  LACT_CHECK(embedding != tensors.end(), "{}: tensor {} is missing", folder_or_file, kEmbedding);
  const auto kept = type.value_or(embedding->second.scalar_type());
  LACT_CHECK(at::isFloatingType(kept), "{}: tensor {} has dtype {}, expected a floating point type",
             folder_or_file, kEmbedding, toString(kept));
  auto model = making(folder_or_file + ": the encoder's weights",
                      [&] { return nn::make_uninitialised<Umt5Encoder>(config, kept); });
  adopt_foreign(*model, own_names(*model), folder_or_file, std::move(tensors));
  return model;
}

void save_umt5(const std::string& folder, const Umt5Encoder& model) {
  write_config_file(folder, kUmt5Type, options::write(model.config()));
  io::write_tensor_folder(folder, export_foreign(model, own_names(model)));
}

}  // namespace lact::models
