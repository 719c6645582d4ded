#include "lact/io/pt_storages.h"

#include <c10/core/ScalarType.h>

#include <cstring>
#include <map>
#include <optional>
#include <string_view>

#include "lact/base/error.h"
#include "lact/io/mapped_file.h"
#include "lact/io/safetensors_header.h"
#include "lact/io/stored_zip.h"

namespace lact::io {

namespace {

using Kind = PickleValue::Kind;
using namespace std::string_view_literals;

constexpr uint64_t kMostPickleBytes = 256 << 20;

/// PyTorch 1.6 and later.
class PtArchive : public PtStorages {
 public:
  explicit PtArchive(const std::string& path) : path_(path), archive_(path) {
    find_folder();
    if (archive_.has(folder_ + "byteorder")) {
      const std::string order = archive_.read_text(folder_ + "byteorder", 16);
      LACT_CHECK(order == "little", "{}: its bytes are in {} order, expected little", path_, shown(order));
    }
    pickle_.emplace(path_, archive_.read_text(folder_ + "data.pkl", kMostPickleBytes));
  }

  const PickleValue& root() const override { return pickle_->root(); }
  uint64_t file_bytes() const override { return archive_.file_bytes(); }
  uint64_t bytes_of(const std::string& key) override { return archive_.size_of(file_of(key)); }
  void read(const std::string& key, void* bytes) override { archive_.read(file_of(key), bytes); }

 private:
  /// All files lie in one folder, whose name is up to the writer.
  void find_folder() {
    const std::string ending = "/data.pkl";
    for (const auto& name : archive_.names()) {
      if (!name.ends_with(ending)) continue;
      folder_ = name.substr(0, name.size() - ending.size() + 1);
      return;
    }
    fail("{}: holds no data.pkl, so it was not written by torch.save", path_);
  }
  std::string file_of(const std::string& key) const { return folder_ + "data/" + key; }

  std::string path_;
  StoredZip archive_;
  std::string folder_;
  std::optional<Pickle> pickle_;
};

/// The number 0x1950a86a20f9469cfc6c as a pickle.
constexpr std::string_view kStreamMagic = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."sv;

/// Before 1.6: pickles of the magic number, a version, the byte order, what was saved, and the keys of the
/// storages; then of each storage the number of its elements (8 bytes) and the elements.
class PtStream : public PtStorages {
 public:
  explicit PtStream(const std::string& path) : path_(path), file_(path), at_(kStreamMagic.size()) {
    const Pickle version(path_, rest());
    at_ += version.bytes();
    LACT_CHECK(version.root().kind == Kind::integer && version.root().integer == 1001,
               "{}: is of another version of torch.save than 1001", path_);
    read_byte_order();
    pickle_.emplace(path_, rest());
    at_ += pickle_->bytes();
    find_storages();
  }

  const PickleValue& root() const override { return pickle_->root(); }
  uint64_t file_bytes() const override { return file_.size(); }
  uint64_t bytes_of(const std::string& key) override { return storage(key).size(); }
  void read(const std::string& key, void* bytes) override {
    const std::string_view found = storage(key);
    std::memcpy(bytes, found.data(), found.size());
  }

 private:
  std::string_view rest() const {
    const uint64_t left = file_.size() - at_;
    return {file_.data() + at_, std::min(left, kMostPickleBytes)};
  }

  void read_byte_order() {
    const Pickle system(path_, rest());
    at_ += system.bytes();
    const auto& items = system.root().items;
    bool little = false;
    for (size_t i = 0; system.root().kind == Kind::dict && i + 1 < items.size(); i += 2)
      little = little || (items[i]->kind == Kind::text && items[i]->text == "little_endian" &&
                          items[i + 1]->kind == Kind::boolean && items[i + 1]->integer == 1);
    LACT_CHECK(little, "{}: does not say that its bytes are in little order", path_);
  }

  void find_storages() {
    std::map<std::string, const PickleValue*> known;
    for (const PickleValue& value : pickle_->values())
      if (value.kind == Kind::storage) known.emplace(value.text, &value);
    const Pickle keys(path_, rest());
    at_ += keys.bytes();
    LACT_CHECK(keys.root().kind == Kind::list, "{}: has no list of storages behind its pickle", path_);
    for (const PickleValue* key : keys.root().items) {
      const auto found = key->kind == Kind::text ? known.find(key->text) : known.end();
      LACT_CHECK(found != known.end(), "{}: lists a storage that no tensor uses", path_);
      uint64_t elements = 0;
      LACT_CHECK(file_.size() - at_ >= sizeof(elements), "{}: is cut off before storage {}", path_,
                 shown(key->text));
      std::memcpy(&elements, file_.data() + at_, sizeof(elements));
      at_ += sizeof(elements);
      const uint64_t left = file_.size() - at_, width = c10::elementSize(found->second->type);
      LACT_CHECK(elements <= left / width,
                 "{}: is cut off in storage {}: {} elements of {} bytes, but {} bytes "
                 "are left",
                 path_, shown(key->text), elements, width, left);
      LACT_CHECK(storages_.emplace(key->text, std::string_view(file_.data() + at_, elements * width)).second,
                 "{}: holds two storages {}", path_, shown(key->text));
      at_ += elements * width;
    }
  }

  std::string_view storage(const std::string& key) const {
    const auto found = storages_.find(key);
    LACT_CHECK(found != storages_.end(), "{}: storage {} is missing", path_, shown(key));
    return found->second;
  }

  std::string path_;
  MappedFile file_;
  uint64_t at_;
  std::optional<Pickle> pickle_;
  std::map<std::string, std::string_view> storages_;
};

bool is_stream(const std::string& path) {
  const MappedFile file(path);
  return std::string_view(file.data(), file.size()).starts_with(kStreamMagic);
}

}  // namespace

std::unique_ptr<PtStorages> open_pt(const std::string& path) {
  if (is_stream(path)) return std::make_unique<PtStream>(path);
  return std::make_unique<PtArchive>(path);
}

}  // namespace lact::io
