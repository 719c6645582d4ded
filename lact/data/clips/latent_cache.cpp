#include "lact/data/clips/latent_cache.h"

#include <ATen/ATen.h>

#include <filesystem>
#include <utility>

#include "lact/base/error.h"
#include "lact/base/fnv.h"
#include "lact/base/log.h"
#include "lact/data/text/cache_folder.h"
#include "lact/io/safetensors.h"

namespace lact::data {

namespace {

constexpr const char* kLatentsKind = "lact clip latents 1";

std::string hash_of_values(const at::Tensor& tensor) {
  Fnv1a hash;
  hash.update(fmt::format("{} {}", tensor.sizes().vec(), at::toString(tensor.scalar_type())));
  hash.update_words(tensor.data_ptr(), tensor.nbytes());
  return hash.hex();
}

}  // namespace

LatentCache::LatentCache(std::string folder, std::string codec, Encode encode)
    : folder_(std::move(folder)), codec_(std::move(codec)), encode_(std::move(encode)) {
  LACT_CHECK(!folder_.empty() && make_writable_folder(folder_), "{}: the cache cannot be written to",
             folder_);
}

std::string LatentCache::file_name(const std::string& identity) const {
  const std::string name = fnv_hex(codec_ + "\n" + identity) + ".safetensors";
  return (std::filesystem::path(folder_) / name).string();
}

at::Tensor LatentCache::stored(const std::string& file, const std::string& identity) const {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return {};
  try {
    const io::TensorFile found = io::read_safetensors(file);
    const auto field = [&](const char* name) {
      const auto at = found.metadata.find(name);
      return at == found.metadata.end() ? "" : at->second;
    };
    const auto latents = found.tensors.find("latents");
    // Two clips may have one hash: then they take turns.
    if (field("kind") != kLatentsKind || field("identity") != identity || field("codec") != codec_) return {};
    if (latents != found.tensors.end() && hash_of_values(latents->second) == field("hash"))
      return latents->second;
    log::warn("{}: the latents are damaged and made anew", file);
  } catch (const Error& error) {
    log::warn("{}; the latents are made anew", error.what());
  }
  return {};
}

at::Tensor LatentCache::latents(const ClipSource& source, uint64_t index) const {
  const std::string identity = source.identity(index), file = file_name(identity);
  at::Tensor latents = stored(file, identity);
  if (latents.defined()) return latents;
  latents = encode_(source.clip(index).frames);
  LACT_CHECK(latents.defined() && latents.dim() == 4,
             "[latents] the codec {} gave a tensor of {} dimensions for a clip, expected 4", codec_,
             latents.defined() ? latents.dim() : 0);
  latents = latents.detach().to(at::kCPU).contiguous();
  io::write_safetensors(file, {{{"latents", latents}},
                               {{"kind", kLatentsKind},
                                {"identity", identity},
                                {"codec", codec_},
                                {"hash", hash_of_values(latents)}}});
  return latents;
}

}  // namespace lact::data
