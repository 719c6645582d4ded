#include "lact/data/text/token_cache.h"

#include <algorithm>
#include <filesystem>

#include "lact/base/error.h"
#include "lact/data/text/cache_folder.h"
#include "lact/data/text/cache_manifest.h"
#include "lact/data/text/encode.h"
#include "lact/data/text/text_file.h"

namespace lact::data {

namespace fs = std::filesystem;

namespace {

class Corpus {
 public:
  Corpus(const Tokenizer& tokenizer, const CorpusOptions& options)
      : tokenizer_(tokenizer),
        options_(options),
        files_(find_text_files(options.paths)),
        sources_(look_at_sources(files_)),
        name_(cache_name()) {}

  /// The tokens stored in `folder`; null if there are none or they are not to be used, which is told.
  std::shared_ptr<TokenArray> open_in(const std::string& folder) const {
    const std::string manifest_path = folder + "/" + name_ + ".json";
    const std::string tokens_path = folder + "/" + name_ + ".tokens";
    std::error_code ignored;
    if (!fs::exists(manifest_path, ignored)) return nullptr;
    std::string reason;
    try {
      const CacheManifest manifest = read_manifest(manifest_path);
      reason = why_stale(manifest, tokenizer_, sources_);
      if (reason.empty()) {
        auto tokens = std::make_shared<TokenArray>(tokens_path);
        if (tokens->hash() == manifest.tokens_hash &&
            tokens->vocabulary_size() == tokenizer_.vocabulary_size()) {
          renew_times(manifest_path, manifest);
          return tokens;
        }
        reason = "the manifest belongs to other tokens";
      }
    } catch (const Error& error) {
      reason = error.what();
    }
    tell(fmt::format("{} is made again: {}", tokens_path, reason));
    return nullptr;
  }

  std::shared_ptr<TokenArray> make_in(const std::string& folder) const {
    const std::string tokens_path = folder + "/" + name_ + ".tokens";
    CacheManifest manifest{tokenizer_.description(), tokenizer_.hash(), "", 0, 0, sources_};
    io::write_file_atomically(tokens_path, [&](io::FileWriter& file) {
      TokenArrayWriter writer(file, tokenizer_.vocabulary_size());
      const auto end_of_text =
          options_.format.end_of_text ? std::optional(tokenizer_.end_of_text()) : std::nullopt;
      for (size_t i = 0; i < files_.size(); ++i) {
        tell(fmt::format("tokenising {} ({} of {})", files_[i], i + 1, files_.size()));
        manifest.sources[i].hash = encode_file(
                                       tokenizer_, files_[i], options_.format.text_field,
                                       [&](const std::vector<int32_t>& tokens) { writer.append(tokens); },
                                       [&](uint64_t bytes) { writer.end_document(end_of_text, bytes); })
                                       .hash;
      }
      manifest.tokens_hash = writer.finish();
      manifest.tokens = writer.tokens();
      manifest.text_bytes = writer.text_bytes();
    });
    auto tokens = std::make_shared<TokenArray>(tokens_path);
    // Last: a token file without a manifest that names its hash is not used.
    write_manifest(folder + "/" + name_ + ".json", manifest);
    tell(fmt::format("{}: {} tokens of {} bytes of text", tokens_path, manifest.tokens, manifest.text_bytes));
    return tokens;
  }

 private:
  void tell(const std::string& message) const {
    if (options_.on_progress) options_.on_progress(message);
  }

  /// The first path's name and a hash of all sources, the tokenizer and the format, so that corpora share a
  /// folder.
  std::string cache_name() const {
    constexpr std::string_view kRules = "2";  // another when the same files and format become other tokens
    Fnv1a key;
    key.update(kRules);
    key.update(options_.format.end_of_text ? "with ends" : "without ends");
    key.update(options_.format.text_field + '\0');
    key.update(tokenizer_.hash());
    for (const auto& source : sources_) key.update(source.path + '\0');
    fs::path first = fs::path(options_.paths.front()).lexically_normal();
    if (!first.has_filename()) first = first.parent_path();
    const std::string stem = first.stem().string();
    return fmt::format("{}-{}", stem.empty() || stem[0] == '.' ? "text" : stem, key.hex());
  }

  /// After the texts have been compared, the new times save comparing them again.
  void renew_times(const std::string& path, CacheManifest manifest) const {
    bool changed = false;
    for (size_t i = 0; i < sources_.size(); ++i) {
      changed |= manifest.sources[i].modified != sources_[i].modified;
      manifest.sources[i].modified = sources_[i].modified;
    }
    if (!changed) return;
    try {
      write_manifest(path, manifest);
    } catch (const Error&) {
      // A folder that cannot be written to is no reason not to use its tokens.
    }
  }

  const Tokenizer& tokenizer_;
  const CorpusOptions& options_;
  std::vector<std::string> files_;
  std::vector<CacheSource> sources_;
  std::string name_;
};

}  // namespace

std::shared_ptr<TokenArray> open_corpus(const Tokenizer& tokenizer, const CorpusOptions& options) {
  const Corpus corpus(tokenizer, options);
  const auto folders = options.cache_folder.empty() ? cache_folders(options.paths.front())
                                                    : std::vector<std::string>{options.cache_folder};
  for (const auto& folder : folders) {
    if (auto tokens = corpus.open_in(folder)) return tokens;
  }
  const auto writable = std::find_if(folders.begin(), folders.end(), make_writable_folder);
  LACT_CHECK(writable != folders.end(), "the tokens cannot be kept: no folder of {} can be written to",
             fmt::join(folders, ", "));
  return corpus.make_in(*writable);
}

}  // namespace lact::data
