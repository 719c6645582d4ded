#include "lact/io/stored_zip.h"

#include <bit>
#include <cstring>
#include <filesystem>
#include <vector>

#include "lact/base/error.h"
#include "lact/io/safetensors_header.h"

namespace lact::io {

namespace {

static_assert(std::endian::native == std::endian::little, "the format is little endian");

constexpr uint64_t kEndBytes = 22, kLocatorBytes = 20, kEnd64Bytes = 56, kEntryBytes = 46, kHeaderBytes = 30;
constexpr uint64_t kMostDirectoryBytes = 256 << 20;
constexpr uint32_t kEndMark = 0x06054b50, kLocatorMark = 0x07064b50, kEnd64Mark = 0x06064b50,
                   kEntryMark = 0x02014b50, kHeaderMark = 0x04034b50;
constexpr uint32_t kIn64 = 0xffffffff;  // the number stands in a zip64 record

template <class Number>
Number number_at(const char* bytes) {
  Number value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

/// Numbers of the zip64 extra field take the places of those that are too large, in this order.
void read_extra64(const std::string& path, const char* extra, size_t bytes,
                  const std::vector<uint64_t*>& too_large) {
  if (too_large.empty()) return;
  for (size_t at = 0; at + 4 <= bytes;) {
    const auto id = number_at<uint16_t>(extra + at), size = number_at<uint16_t>(extra + at + 2);
    LACT_CHECK(at + 4 + size <= bytes, "{}: an extra field of the zip archive is cut off", path);
    if (id == 1) {
      LACT_CHECK(size >= 8 * too_large.size(), "{}: a zip64 field has {} bytes, expected {}", path, size,
                 8 * too_large.size());
      for (size_t i = 0; i < too_large.size(); ++i)
        *too_large[i] = number_at<uint64_t>(extra + at + 4 + 8 * i);
      return;
    }
    at += 4 + size_t(size);
  }
  fail("{}: the zip archive has a file of 4 GB or more without its zip64 field", path);
}

}  // namespace

StoredZip::StoredZip(const std::string& path) : path_(path) {
  std::error_code error;
  LACT_CHECK(std::filesystem::is_regular_file(path, error), "{}: is not a file that can be read", path);
  file_bytes_ = std::filesystem::file_size(path, error);
  stream_.open(path, std::ios::binary);
  LACT_CHECK(!error && stream_, "{}: cannot be opened for reading", path);
  read_directory(find_directory());
}

void StoredZip::read_at(uint64_t offset, void* bytes, uint64_t count) {
  LACT_CHECK(offset <= file_bytes_ && count <= file_bytes_ - offset,
             "{}: the zip archive points to bytes {} to {} but has {}; is it cut off?", path_, offset,
             fmt::format("{}+{}", offset, count), file_bytes_);
  stream_.clear();
  stream_.seekg(std::streamoff(offset));
  stream_.read(static_cast<char*>(bytes), std::streamsize(count));
  LACT_CHECK(uint64_t(stream_.gcount()) == count, "{}: cannot be read", path_);
}

StoredZip::Directory StoredZip::find_directory() {
  // The record at the end may be followed by a comment of up to 65535 bytes.
  const uint64_t tail_bytes = std::min<uint64_t>(file_bytes_, kEndBytes + 65535);
  std::vector<char> tail(tail_bytes);
  read_at(file_bytes_ - tail_bytes, tail.data(), tail_bytes);
  int64_t at = int64_t(tail_bytes) - int64_t(kEndBytes);
  while (at >= 0 && number_at<uint32_t>(tail.data() + at) != kEndMark) --at;
  LACT_CHECK(at >= 0, "{}: is not a zip archive, or is cut off; PyTorch 1.6 and later write one", path_);
  const char* end = tail.data() + at;
  Directory directory = {number_at<uint16_t>(end + 10), number_at<uint32_t>(end + 12),
                         number_at<uint32_t>(end + 16)};
  const uint64_t end_offset = file_bytes_ - tail_bytes + uint64_t(at);
  if (directory.entries != 0xffff && directory.size != kIn64 && directory.offset != kIn64) return directory;

  LACT_CHECK(end_offset >= kLocatorBytes, "{}: the zip archive has no zip64 record", path_);
  char locator[kLocatorBytes], end64[kEnd64Bytes];
  read_at(end_offset - kLocatorBytes, locator, kLocatorBytes);
  LACT_CHECK(number_at<uint32_t>(locator) == kLocatorMark, "{}: the zip archive has no zip64 record", path_);
  read_at(number_at<uint64_t>(locator + 8), end64, kEnd64Bytes);
  LACT_CHECK(number_at<uint32_t>(end64) == kEnd64Mark, "{}: the zip archive has no zip64 record", path_);
  return {number_at<uint64_t>(end64 + 32), number_at<uint64_t>(end64 + 40), number_at<uint64_t>(end64 + 48)};
}

void StoredZip::read_directory(const Directory& directory) {
  LACT_CHECK(directory.size <= kMostDirectoryBytes && directory.entries <= directory.size / kEntryBytes,
             "{}: the zip archive claims {} files in a list of {} bytes", path_, directory.entries,
             directory.size);
  LACT_CHECK(directory.offset <= file_bytes_ && directory.size <= file_bytes_ - directory.offset,
             "{}: the zip archive's list of files lies outside of it; is it cut off?", path_);
  std::vector<char> list(directory.size);
  read_at(directory.offset, list.data(), list.size());
  size_t at = 0;
  uint64_t total = 0;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    LACT_CHECK(at + kEntryBytes <= list.size() && number_at<uint32_t>(&list[at]) == kEntryMark,
               "{}: file {} of the zip archive's list is not well formed", path_, i);
    const char* record = &list[at];
    const auto flags = number_at<uint16_t>(record + 8), method = number_at<uint16_t>(record + 10);
    const size_t name_bytes = number_at<uint16_t>(record + 28),
                 extra_bytes = number_at<uint16_t>(record + 30),
                 comment_bytes = number_at<uint16_t>(record + 32);
    uint64_t stored = number_at<uint32_t>(record + 20), size = number_at<uint32_t>(record + 24),
             header = number_at<uint32_t>(record + 42);
    at += kEntryBytes;
    LACT_CHECK(name_bytes + extra_bytes + comment_bytes <= list.size() - at,
               "{}: file {} of the zip archive's list is cut off", path_, i);
    const std::string name(&list[at], name_bytes);
    std::vector<uint64_t*> too_large;
    for (uint64_t* number : {&size, &stored, &header})
      if (*number == kIn64) too_large.push_back(number);
    read_extra64(path_, list.data() + at + name_bytes, extra_bytes, too_large);
    LACT_CHECK(method == 0 && (flags & 1) == 0 && stored == size,
               "{}: file {} of the zip archive is compressed or encrypted, expected stored bytes", path_,
               shown(name));
    LACT_CHECK(size <= file_bytes_ && header <= file_bytes_,
               "{}: file {} of the zip archive claims {} bytes at {}, but the archive has {}", path_,
               shown(name), size, header, file_bytes_);
    // Files that share their bytes could come to any multiple of the archive.
    total += size;
    LACT_CHECK(total <= file_bytes_,
               "{}: the files of the zip archive overlap: they claim more than its {} bytes", path_,
               file_bytes_);
    LACT_CHECK(entries_.emplace(name, Entry{header, size}).second, "{}: holds two files {}", path_,
               shown(name));
    at += name_bytes + extra_bytes + comment_bytes;
  }
}

std::vector<std::string> StoredZip::names() const {
  std::vector<std::string> all;
  for (const auto& [name, unused] : entries_) all.push_back(name);
  return all;
}

const StoredZip::Entry& StoredZip::entry(const std::string& name) const {
  const auto found = entries_.find(name);
  LACT_CHECK(found != entries_.end(), "{}: holds no file {}", path_, shown(name));
  return found->second;
}

uint64_t StoredZip::size_of(const std::string& name) const { return entry(name).size; }

void StoredZip::read(const std::string& name, void* bytes) {
  const Entry& found = entry(name);
  char header[kHeaderBytes];
  read_at(found.header, header, kHeaderBytes);
  LACT_CHECK(number_at<uint32_t>(header) == kHeaderMark, "{}: file {} of the zip archive has no header",
             path_, shown(name));
  const uint64_t skip = uint64_t(number_at<uint16_t>(header + 26)) + number_at<uint16_t>(header + 28);
  read_at(found.header + kHeaderBytes + skip, bytes, found.size);
}

std::string StoredZip::read_text(const std::string& name, uint64_t most_bytes) {
  const uint64_t size = size_of(name);
  LACT_CHECK(size <= most_bytes, "{}: file {} of the zip archive has {} bytes, expected at most {}", path_,
             shown(name), size, most_bytes);
  std::string text(size, '\0');
  read(name, text.data());
  return text;
}

}  // namespace lact::io
