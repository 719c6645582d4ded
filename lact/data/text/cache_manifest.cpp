#include "lact/data/text/cache_manifest.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "lact/base/error.h"
#include "lact/base/options.h"
#include "lact/data/text/text_file.h"
#include "lact/io/atomic_file.h"

namespace lact::data {

CacheManifest read_manifest(const std::string& path) {
  CacheManifest manifest;
  options::read(options::read_json_file(path), manifest);
  return manifest;
}

void write_manifest(const std::string& path, const CacheManifest& manifest) {
  // File names may be any bytes; JSON is UTF-8.
  constexpr auto kReplace = options::Json::error_handler_t::replace;
  const std::string json = options::write(manifest).dump(2, ' ', false, kReplace) + "\n";
  io::write_file_atomically(path, [&](io::FileWriter& writer) { writer.write(json); });
}

std::vector<CacheSource> look_at_sources(const std::vector<std::string>& files) {
  std::vector<CacheSource> sources;
  for (const auto& file : files) {
    struct stat status = {};
    LACT_CHECK(stat(file.c_str(), &status) == 0, "{}: cannot be read: {}", file,
               std::generic_category().message(errno));
    const int64_t modified = int64_t{status.st_mtim.tv_sec} * 1000000000 + status.st_mtim.tv_nsec;
    sources.push_back(
        {std::filesystem::absolute(file).lexically_normal().string(), status.st_size, modified, ""});
  }
  return sources;
}

namespace {

std::string text_hash(const std::string& path) {
  TextFile file(path);
  for (std::string block; file.next(block);) continue;
  return file.hash();
}

}  // namespace

std::string why_stale(const CacheManifest& manifest, const Tokenizer& tokenizer,
                      const std::vector<CacheSource>& sources) {
  if (manifest.tokenizer_hash != tokenizer.hash()) return "it was made with another tokenizer";
  if (manifest.sources.size() != sources.size()) {
    return fmt::format("it was made of {} files instead of {}", manifest.sources.size(), sources.size());
  }
  for (size_t i = 0; i < sources.size(); ++i) {
    const CacheSource& then = manifest.sources[i];
    const CacheSource& now = sources[i];
    if (then.path != now.path) return fmt::format("it was made of {} instead of {}", then.path, now.path);
    if (then.size != now.size || (then.modified != now.modified && then.hash != text_hash(now.path))) {
      return fmt::format("{} has changed", now.path);
    }
  }
  return "";
}

}  // namespace lact::data
