#include "lact/io/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <charconv>
#include <sstream>
#include <vector>

#include "lact/base/error.h"
#include "lact/io/regular_file.h"

namespace lact::io {

namespace {

constexpr uint64_t kLongestYaml = uint64_t{1} << 20;
constexpr size_t kDeepestYaml = 64;

template <class Number>
bool parse_number(const std::string& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/// What an unquoted word means in YAML's core schema, as far as configs use it.
options::Json plain_scalar(const std::string& text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return nullptr;
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  const std::string number = text.front() == '+' ? text.substr(1) : text;
  const bool begins_like_one = number.find_first_of("0123456789") <= 2;  // not inf and nan, which are words
  if (int64_t whole = 0; parse_number(number, whole)) return whole;
  if (double real = 0; begins_like_one && parse_number(number, real)) return real;
  return text;
}

/// Builds the value while the parser goes through the file: a stack of the maps and lists that are open.
class JsonBuilder : public YAML::EventHandler {
 public:
  explicit JsonBuilder(const std::string& path) : path_(path) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { add(nullptr, mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse(mark, "an alias"); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& text) override {
    add(tag == "?" ? plain_scalar(text) : options::Json(text), mark);  // "!" is quoted
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(options::Json::array(), mark);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open(options::Json::object(), mark);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

  options::Json take() { return std::move(root_); }

 private:
  struct Level {
    options::Json value;
    YAML::Mark mark;
    std::optional<std::string> key;  ///< of a map, whose value is still to come
  };

  [[noreturn]] void refuse(const YAML::Mark& mark, const std::string& what) const {
    fail("{}: line {} has {}, expected maps, lists and plain values", path_, mark.line + 1, what);
  }

  void open(options::Json value, const YAML::Mark& mark) {
    if (levels_.size() >= kDeepestYaml) refuse(mark, fmt::format("more than {} levels", kDeepestYaml));
    levels_.push_back({std::move(value), mark, std::nullopt});
  }
  void close() {
    Level done = std::move(levels_.back());
    levels_.pop_back();
    add(std::move(done.value), done.mark);
  }
  void add(options::Json value, const YAML::Mark& mark) {
    if (levels_.empty()) {
      root_ = std::move(value);
      return;
    }
    Level& level = levels_.back();
    if (level.value.is_array()) {
      level.value.push_back(std::move(value));
    } else if (!level.key) {
      if (value.is_structured()) refuse(mark, "a list or a map as a key");
      level.key = value.is_string() ? value.get<std::string>() : value.dump();
      if (level.value.contains(*level.key)) refuse(mark, fmt::format("the key {} again", *level.key));
    } else {
      level.value[*level.key] = std::move(value);
      level.key.reset();
    }
  }

  const std::string& path_;
  std::vector<Level> levels_;
  options::Json root_;
};

}  // namespace

options::Json read_yaml_file(const std::string& path) {
  std::istringstream text(read_whole_file(path, kLongestYaml));
  JsonBuilder builder(path);
  try {
    YAML::Parser parser(text);
    parser.HandleNextDocument(builder);
    LACT_CHECK(!parser.HandleNextDocument(builder), "{}: holds more than one YAML document", path);
  } catch (const YAML::Exception& error) {
    fail("{}: not valid YAML at line {}: {}", path, error.mark.line + 1, error.msg);
  }
  return builder.take();
}

}  // namespace lact::io
