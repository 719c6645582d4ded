#include "lact/io/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "lact/base/error.h"

namespace lact::io {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_write(const std::string& path, int error) {
  fail("{}: cannot be written: {}", path, std::generic_category().message(error));
}

/// Where the bytes of `path` belong: the end of its symbolic links.
fs::path resolve_target(const std::string& path) {
  LACT_CHECK(!path.empty(), "the name of the file to write is empty");
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  LACT_CHECK(!fs::is_directory(status), "{}: cannot be written: it is a folder, expected a file", path);
  if (fs::exists(status)) {
    // Renaming over /dev/null or a pipe would replace it for everyone.
    LACT_CHECK(fs::is_regular_file(status), "{}: cannot be written: it is not a regular file", path);
    const fs::path target = fs::canonical(path, error);
    if (error) cannot_write(path, error.value());
    return target;
  }
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) {
    const fs::file_status parent = fs::status(folder, error);
    LACT_CHECK(parent.type() != fs::file_type::not_found,
               "{}: cannot be written: the folder {} does not exist", path, folder.string());
    if (parent.type() == fs::file_type::none) cannot_write(path, error.value());
    LACT_CHECK(fs::is_directory(parent), "{}: cannot be written: {} is not a folder", path, folder.string());
  }
  return path;
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : path_(path), target_(resolve_target(path).string()) {
  static std::atomic<uint64_t> counter = 0;
  do {
    name_ = fmt::format("{}.{}-{}.tmp", target_, getpid(), counter++);
    // O_EXCL: a name left by an earlier process is never written into, the next number is tried.
    descriptor_ = open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && (errno == EEXIST || errno == EINTR));
  if (descriptor_ < 0) cannot_write(path_, errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!committed_) unlink(name_.c_str());
}

void AtomicFile::commit() {
  LACT_ASSERT(descriptor_ >= 0);
  if (fsync(descriptor_) != 0) cannot_write(path_, errno);
  // close() reports late write errors of network file systems, and frees the descriptor even when it fails.
  if (close(std::exchange(descriptor_, -1)) != 0) cannot_write(path_, errno);
  if (std::rename(name_.c_str(), target_.c_str()) != 0) cannot_write(path_, errno);
  committed_ = true;
  sync_folder();
}

/// Makes the new name survive a power cut. Some file systems cannot do it; the file is complete all the same.
void AtomicFile::sync_folder() const {
  const fs::path target(target_);
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

void check_can_write(const std::string& path) { const AtomicFile file(path); }

void check_can_create_folder(const std::string& path) {
  LACT_CHECK(!path.empty(), "the name of the folder to write is empty");
  // What exists of it, from the end: the folder itself, or one above it.
  fs::path there = path;
  std::error_code error;
  fs::file_status status = fs::status(there, error);
  while (status.type() == fs::file_type::not_found && there != "." && there.has_relative_path()) {
    there = there.parent_path();
    if (there.empty()) there = ".";
    status = fs::status(there, error);
  }
  LACT_CHECK(status.type() != fs::file_type::none, "{}: cannot be created: {}", path, error.message());
  LACT_CHECK(fs::is_directory(status), "{}: cannot be created: {} is not a folder", path, there.string());
  LACT_CHECK(access(there.c_str(), W_OK | X_OK) == 0, "{}: cannot be written: {}", path,
             std::generic_category().message(errno));
}

void FileWriter::write(const void* bytes, size_t count) {
  const char* next = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = ::write(descriptor_, next, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) cannot_write(path_, errno);
    next += written;
    count -= static_cast<size_t>(written);
  }
}

void write_file_atomically(const std::string& path, const std::function<void(FileWriter&)>& write_contents) {
  AtomicFile file(path);
  FileWriter writer(file.descriptor(), path);
  write_contents(writer);
  file.commit();
}

}  // namespace lact::io
