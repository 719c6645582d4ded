#include "lact/data/text/sentencepiece_program.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <vector>

#include "lact/base/error.h"
#include "lact/io/child_process.h"
#include "lact/io/temporary_folder.h"

namespace lact::data {

namespace fs = std::filesystem;

namespace {

constexpr const char* kProgram = "spm_train";

std::string system_message(int error) { return std::generic_category().message(error); }

/// A file without a name: a process that is killed leaves nothing behind.
class Sentences {
 public:
  explicit Sentences(const NextSentence& next) : file_(memfd_create("sentences", MFD_CLOEXEC)) {
    LACT_CHECK(file_ >= 0, "the sentences for {} cannot be kept in memory: {}", kProgram,
               system_message(errno));
    try {
      std::string block;
      for (std::string sentence; next(sentence);) {
        block += sentence += '\n';
        if (block.size() >= kBlockBytes) write_out(block);
      }
      write_out(block);
    } catch (...) {
      close(file_);
      throw;
    }
  }
  ~Sentences() { close(file_); }
  Sentences(const Sentences&) = delete;
  Sentences& operator=(const Sentences&) = delete;

  int file() const { return file_; }

 private:
  static constexpr size_t kBlockBytes = size_t{1} << 20;

  void write_out(std::string& block) {
    for (std::string_view rest = block; !rest.empty();) {
      const ssize_t written = ::write(file_, rest.data(), rest.size());
      LACT_CHECK(written > 0 || errno == EINTR, "the sentences for {} cannot be kept in memory: {}", kProgram,
                 system_message(errno));
      if (written > 0) rest.remove_prefix(size_t(written));
    }
    block.clear();
  }

  int file_;
};

std::string why_not_started(int error) {
  if (error == ENOENT) {
    return fmt::format(
        "{} is needed to train a tokenizer and is not installed: it is in the package sentencepiece",
        kProgram);
  }
  return fmt::format("{} is needed to train a tokenizer and cannot be started: {}", kProgram,
                     system_message(error));
}

std::string everything_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TrainedModel train_with_sentencepiece(const std::map<std::string, std::string>& settings,
                                      const NextSentence& next) {
  const Sentences sentences(next);
  const io::TemporaryFolder folder;
  // A model holds the names of its files, so they are the same each time.
  std::vector<std::string> words = {kProgram, "--input=/dev/stdin", "--model_prefix=trained",
                                    "--random_seed=1", "--minloglevel=3"};
  for (const auto& [name, value] : settings) words.push_back(fmt::format("--{}={}", name, value));
  io::ChildProcess program(io::ChildProcess::Direction::we_read);
  if (const int error = program.start(std::move(words), {folder.path(), sentences.file()}))
    fail("{}", why_not_started(error));
  for (char unused[256]; program.read(unused, sizeof(unused)) > 0;) continue;
  TrainedModel model;
  if (program.finish()) model.bytes = everything_in(folder.path() + "/trained.model");
  if (model.bytes.empty()) {
    model.mistake = program.first_complaints();
    if (model.mistake.empty()) model.mistake = fmt::format("{} ended without a model", kProgram);
  }
  return model;
}

std::string why_no_sentencepiece() {
  io::ChildProcess program(io::ChildProcess::Direction::we_read);
  const int error = program.start({kProgram, "--version"});
  return error == 0 ? "" : why_not_started(error);
}

}  // namespace lact::data
