// What a token file was made of, so that it is made again when that has changed. Stored as JSON beside it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lact/data/text/tokenizer.h"

namespace lact::data {

struct CacheSource {
  std::string path;
  int64_t size = 0;
  int64_t modified = 0;  // nanoseconds since 1970
  std::string hash;      // of the text

  template <class Visitor>
  void visit(Visitor&& field) {
    field("path", path, "the text file");
    field("size", size, "bytes of the file");
    field("modified", modified, "when it was changed last, in nanoseconds since 1970");
    field("hash", hash, "FNV-1a of its contents, unpacked");
  }
};

struct CacheManifest {
  std::string tokenizer, tokenizer_hash, tokens_hash;
  int64_t tokens = 0, text_bytes = 0;
  std::vector<CacheSource> sources;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("tokenizer", tokenizer, "its description");
    field("tokenizer_hash", tokenizer_hash, "of the tokenizer's file");
    field("tokens_hash", tokens_hash, "of the token file this belongs to");
    field("tokens", tokens, "with the end-of-text tokens");
    field("text_bytes", text_bytes, "bytes of all texts, unpacked");
    field("sources", sources, "the text files in order");
  }
};

/// Throws lact::Error if the file is missing or not a manifest.
CacheManifest read_manifest(const std::string& path);
void write_manifest(const std::string& path, const CacheManifest& manifest);

/// Path, size and time of each file; no hash yet.
std::vector<CacheSource> look_at_sources(const std::vector<std::string>& files);

/// Why tokens with this manifest are not those of `tokenizer` and `sources`; "" if they are. Where only the
/// time differs, the text itself is compared.
std::string why_stale(const CacheManifest& manifest, const Tokenizer& tokenizer,
                      const std::vector<CacheSource>& sources);

}  // namespace lact::data
