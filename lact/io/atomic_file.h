// Writes a file so that a reader finds either the old contents or all of the new ones: the bytes go to a
// temporary name in the same folder, are synced to the disk and renamed. Nothing is left behind when that
// fails.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace lact::io {

/// Takes a file's bytes in order; throws lact::Error when they cannot be stored (a full disk, say).
class FileWriter {
 public:
  /// `path` is the name used in errors and must outlive the writer; the descriptor stays the caller's.
  FileWriter(int descriptor, const std::string& path) : descriptor_(descriptor), path_(path) {}
  void write(const void* bytes, size_t count);
  void write(std::string_view text) { write(text.data(), text.size()); }

 private:
  int descriptor_;
  const std::string& path_;
};

/// A new, empty file beside the one at `path`. Without commit() it is removed again and the old file stays. A
/// symbolic link is followed; a folder or device is an error.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  int descriptor() const { return descriptor_; }
  /// For another program that writes it.
  const std::string& temporary_name() const { return name_; }

  /// Syncs the bytes to the disk and gives the file its name; once.
  void commit();

 private:
  void sync_folder() const;

  std::string path_, target_, name_;
  int descriptor_ = -1;
  bool committed_ = false;
};

/// Throws a sentence if the file could not be written: for work that takes long before it writes.
void check_can_write(const std::string& path);

/// The same for a folder, which may exist; nothing is made yet.
void check_can_create_folder(const std::string& path);

/// Replaces the file at `path` by what `write_contents` writes. What it throws passes through, and the old
/// file stays. Callers in several threads or processes do not mix.
void write_file_atomically(const std::string& path, const std::function<void(FileWriter&)>& write_contents);

}  // namespace lact::io
