#include "lact/data/text/documents.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "lact/base/error.h"

namespace lact::data {

namespace {

constexpr size_t kLongestLine = size_t{256} << 20;

/// Takes one field of an object and looks at the rest only as far as JSON must be valid.
class FieldOfObject final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit FieldOfObject(const std::string& name) : name_(name) {}

  std::optional<std::string> text;
  std::string found;  ///< what the field holds instead of a text
  std::string fields;
  bool is_object = false;
  size_t mistake = 0;  ///< behind so many bytes

  bool null() override { return other("null"); }
  bool boolean(bool) override { return other("a boolean"); }
  bool number_integer(number_integer_t) override { return other("a number"); }
  bool number_unsigned(number_unsigned_t) override { return other("a number"); }
  bool number_float(number_float_t, const string_t&) override { return other("a number"); }
  bool binary(binary_t&) override { return other("bytes"); }
  bool string(string_t& value) override {
    if (depth_ == 1 && is_wanted_) text = std::move(value);
    return true;
  }
  bool start_object(size_t) override {
    if (depth_ == 0) is_object = true;
    other("an object");
    ++depth_;
    return true;
  }
  bool key(string_t& name) override {
    if (depth_ > 1) return true;
    is_wanted_ = name == name_;
    constexpr size_t kShown = 100;
    if (fields.size() < kShown) fields += (fields.empty() ? "" : ", ") + name;
    return true;
  }
  bool end_object() override { return --depth_, true; }
  bool start_array(size_t) override { return other("an array"), ++depth_, true; }
  bool end_array() override { return --depth_, true; }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    mistake = position;
    return false;
  }

 private:
  bool other(const char* kind) {
    if (depth_ == 1 && is_object && is_wanted_) found = kind;
    return true;
  }

  const std::string& name_;
  int64_t depth_ = 0;
  bool is_wanted_ = false;
};

}  // namespace

bool has_json_lines(const std::string& path) {
  std::filesystem::path name(path);
  if (name.extension() == ".gz" || name.extension() == ".zst") name.replace_extension();
  const auto ending = name.extension();
  return ending == ".jsonl" || ending == ".ndjson" || ending == ".json";
}

Documents::Documents(const std::string& path, const std::string& text_field)
    : path_(path), text_field_(text_field), has_lines_(has_json_lines(path)), file_(path) {
  LACT_CHECK(!text_field.empty(), "the name of the field with the text is empty");
}

bool Documents::next_document() {
  has_part_ = false;
  if (has_lines_) {
    while (!has_part_ && next_line()) read_text_of_line();
  } else if (file_.bytes() == 0) {
    has_part_ = file_.next(part_);
  }
  return has_part_;
}

bool Documents::next(std::string& part) {
  if (std::exchange(has_part_, false)) {
    part = std::move(part_);
    return true;
  }
  return !has_lines_ && file_.next(part);
}

/// The next line that holds more than white space; false after the last.
bool Documents::next_line() {
  do {
    size_t end = pending_.find('\n', searched_);
    for (std::string block; end == std::string::npos && file_.next(block);) {
      pending_.erase(0, begin_);
      begin_ = 0;
      searched_ = pending_.size();
      pending_ += block;
      end = pending_.find('\n', searched_);
      LACT_CHECK(std::min(end, pending_.size()) <= kLongestLine, "{}: line {} has more than {} bytes", path_,
                 line_number_ + 1, kLongestLine);
    }
    if (end == std::string::npos) end = pending_.size();
    if (begin_ == pending_.size()) return false;
    line_.assign(pending_, begin_, end - begin_);
    begin_ = searched_ = std::min(end + 1, pending_.size());
    ++line_number_;
  } while (line_.find_first_not_of(" \t\r") == std::string::npos);
  return true;
}

void Documents::read_text_of_line() {
  FieldOfObject field(text_field_);
  LACT_CHECK(nlohmann::json::sax_parse(line_, &field), "{}: line {} is not valid JSON, at byte {}", path_,
             line_number_, std::min(field.mistake, line_.size()));
  LACT_CHECK(field.is_object, "{}: line {} is not a JSON object", path_, line_number_);
  LACT_CHECK(field.found.empty(), "{}: line {}: the field \"{}\" is {}, expected a string", path_,
             line_number_, text_field_, field.found);
  LACT_CHECK(field.text.has_value(),
             "{}: line {} has no field \"{}\" (it has: {}); --text-field names another", path_, line_number_,
             text_field_, field.fields);
  unify_line_ends(*field.text);
  part_ = std::move(*field.text);
  has_part_ = !part_.empty();
}

}  // namespace lact::data
