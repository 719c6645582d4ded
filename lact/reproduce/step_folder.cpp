#include "lact/reproduce/step_folder.h"

#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/fnv.h"
#include "lact/base/version.h"
#include "lact/io/atomic_file.h"

namespace lact::reproduce {

namespace fs = std::filesystem;

namespace {

constexpr const char *kRecord = "step.json", *kUnfinished = "unfinished.json";

struct Unfinished {
  double seconds = 0;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("seconds", seconds, "that the parts so far took");
  }
};

template <class T>
void write_struct(const std::string& path, const T& value) {
  const std::string text = options::write(value).dump(2) + "\n";
  io::write_file_atomically(path, [&](io::FileWriter& out) { out.write(text); });
}

}  // namespace

std::string step_key(const Words& words, const std::string& meaning) {
  Fnv1a hash;
  // What another version of the program computes is another result.
  for (const std::string& part : {std::string(version()), meaning}) hash.update(part + '\0');
  for (const auto& word : words) hash.update(word + '\0');
  return hash.hex().substr(0, 12);
}

StepFolder::StepFolder(const std::string& out, const std::string& id, const std::string& key)
    : path_((fs::path(out) / "steps" / (id + "-" + key)).string()) {}

std::optional<StepRecord> StepFolder::finished() const {
  if (!fs::exists(file(kRecord))) return std::nullopt;
  StepRecord record;
  try {
    options::read(options::read_json_file(file(kRecord)), record);
  } catch (const Error& error) {
    const std::string sentence = error.what();
    fail("{}{}; remove the folder to run the step again",
         sentence.starts_with(path_) ? "" : file(kRecord) + ": ", sentence);
  }
  return record;
}

void StepFolder::finish(const StepRecord& record) const {
  write_struct(file(kRecord), record);
  std::error_code ignored;
  fs::remove(file(kUnfinished), ignored);
}

double StepFolder::seconds_before() const {
  if (!fs::exists(file(kUnfinished))) return 0;
  Unfinished parts;
  options::read(options::read_json_file(file(kUnfinished)), parts, file(kUnfinished));
  return parts.seconds;
}

void StepFolder::remember_seconds(double seconds) const {
  write_struct(file(kUnfinished), Unfinished{seconds});
}

void StepFolder::create() const {
  std::error_code error;
  fs::create_directories(path_, error);
  LACT_CHECK(!error, "{}: cannot be created: {}", path_, error.message());
}

void StepFolder::clear() const {
  std::error_code error;
  fs::remove_all(path_, error);
  LACT_CHECK(!error, "{}: cannot be removed: {}", path_, error.message());
}

}  // namespace lact::reproduce
