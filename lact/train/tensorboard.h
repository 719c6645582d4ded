// Scalars of a run in the file format that TensorBoard reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lact::train {

/// The Castagnoli checksum, as TFRecord files use it.
uint32_t crc32c(std::string_view bytes);

/// Writes one new file events.out.tfevents.<time>.<host>.<pid> into a folder. A resumed run makes another
/// writer and so another file: TensorBoard shows all files of a folder as one run. Not for several threads.
class TensorBoardWriter {
 public:
  /// Makes the folder where there is none. Times are seconds since 1970. Throws when the folder cannot be
  /// written to.
  TensorBoardWriter(const std::string& folder, double wall_time);
  /// Flushes as far as possible, without a word: call flush() to hear of a full disk.
  ~TensorBoardWriter();
  TensorBoardWriter(const TensorBoardWriter&) = delete;
  TensorBoardWriter& operator=(const TensorBoardWriter&) = delete;

  /// Kept in memory until flush() or until much has come together. TensorBoard groups tags by what stands
  /// before a slash, such as "train/loss". The value is stored as float32.
  void scalar(const std::string& tag, double value, int64_t step, double wall_time);

  /// Hands everything to the operating system. When that fails the file keeps its whole records and the
  /// others stay in memory, so that a later flush can succeed.
  void flush();

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::string pending_;  // whole records
  int64_t written_ = 0;  // bytes of whole records in the file
  int descriptor_ = -1;
};

}  // namespace lact::train
