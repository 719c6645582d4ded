// A umT5 encoder as a folder, config.json and model.safetensors; or as the checkpoint that Wan 2.1 published,
// a .pth or .safetensors file.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "lact/base/options.h"
#include "lact/models/umt5/encoder.h"

namespace lact::models {

/// The constructor arguments of the published encoder.
struct AuthorsUmt5 {
  int64_t vocab = 256384, dim = 4096, dim_attn = 4096, dim_ffn = 10240, num_heads = 64, num_layers = 24;
  int64_t num_buckets = 32, max_dist = 128;
  bool shared_pos = false;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("vocab", vocab, "different tokens");
    field("dim", dim, "width of the model");
    field("dim_attn", dim_attn, "width of q, k and v");
    field("dim_ffn", dim_ffn, "channels inside the feed-forward network");
    field("num_heads", num_heads, "attention heads");
    field("num_layers", num_layers, "blocks");
    field("num_buckets", num_buckets, "groups of distances");
    field("max_dist", max_dist, "distance from which on all share a group");
    field("shared_pos", shared_pos, "one position bias for all blocks, as in T5; umT5 has one each");
  }
};
AuthorsUmt5 read_authors_umt5(const options::Json& json, const std::string& path);
Umt5Config translate(const AuthorsUmt5& theirs);

/// A folder, or a checkpoint file, whose sizes are those of its tensors. The weights are kept in the type of
/// the file, or in this one.
std::shared_ptr<Umt5Encoder> load_umt5(const std::string& folder_or_file,
                                       std::optional<at::ScalarType> type = {});

/// Creates the folder if it is missing. The weights keep their type.
void save_umt5(const std::string& folder, const Umt5Encoder& model);

}  // namespace lact::models
