#include "lact/data/clips/clip_files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "lact/base/error.h"
#include "lact/base/json_text.h"
#include "lact/base/options.h"
#include "lact/data/text/split.h"
#include "lact/data/text/utf8.h"
#include "lact/io/regular_file.h"
#include "lact/io/video_reader.h"

namespace lact::data {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxCaptionBytes = uint64_t{1} << 20, kMaxListBytes = uint64_t{1} << 30;

bool is_picture_name(const fs::path& path) {
  std::string ending = path.extension().string();
  for (char& letter : ending)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

/// Runs of digits count as numbers.
bool comes_before(std::string_view one, std::string_view other) {
  while (!one.empty() && !other.empty()) {
    if (!is_digit(one[0]) || !is_digit(other[0])) {
      if (one[0] != other[0]) return one[0] < other[0];
      one.remove_prefix(1);
      other.remove_prefix(1);
      continue;
    }
    const auto take_number = [](std::string_view& text) {
      while (text.size() > 1 && text[0] == '0' && is_digit(text[1])) text.remove_prefix(1);
      size_t digits = 0;
      while (digits < text.size() && is_digit(text[digits])) ++digits;
      const std::string_view number = text.substr(0, digits);
      text.remove_prefix(digits);
      return number;
    };
    const std::string_view number = take_number(one), other_number = take_number(other);
    if (number.size() != other_number.size()) return number.size() < other_number.size();
    if (number != other_number) return number < other_number;
  }
  return one.size() < other.size();
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    entries.push_back(entry->path());
  LACT_CHECK(!error, "{}: the folder cannot be read: {}", folder.string(), error.message());
  std::sort(entries.begin(), entries.end(),
            [](const fs::path& a, const fs::path& b) { return comes_before(a.string(), b.string()); });
  return entries;
}

/// Blanks at both ends do not count, line ends become blanks.
std::string caption_in(const std::string& bytes, const std::string& where) {
  Utf8Validator validator;
  auto mistake = validator.push(bytes);
  if (!mistake) mistake = validator.finish();
  if (mistake)
    fail("{}: byte {} (0x{:02x}) of the caption is not valid UTF-8", where, mistake->position, mistake->byte);
  std::string caption;
  for (const char letter : bytes) {
    const bool space = static_cast<unsigned char>(letter) <= ' ';
    if (!space) caption += letter;
    if (space && !caption.empty() && caption.back() != ' ') caption += ' ';
  }
  while (!caption.empty() && caption.back() == ' ') caption.pop_back();
  return caption;
}

/// The same for all names of a file: links and dots are resolved.
std::string file_behind(const std::string& path) {
  std::error_code error;
  const fs::path canonical = fs::weakly_canonical(path, error);
  return (error ? fs::path(path).lexically_normal() : canonical).string();
}

class ClipFinder {
 public:
  explicit ClipFinder(bool allow_empty_captions) : allow_empty_(allow_empty_captions) {}

  void add(const std::string& path) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      const size_t before = files_.size();
      add_folder(path, 0);
      LACT_CHECK(files_.size() > before, "{}: the folder holds neither videos nor PNG or JPEG frames", path);
    } else {
      io::regular_file_size(path);
      const std::string ending = fs::path(path).extension().string();
      if (ending == ".jsonl") {
        add_list(path);
      } else {
        LACT_CHECK(io::is_readable_video_name(path),
                   "{}: is neither a video (.mp4, .avi, .mkv, .mpg, .gif and so on) nor a .jsonl list", path);
        add_clip({path, false, ""}, std::nullopt, path);
      }
    }
  }

  std::vector<ClipFile> take() { return std::move(files_); }

 private:
  static constexpr int kDeepest = 32;  ///< links may go in circles

  void add_folder(const fs::path& folder, int depth) {
    LACT_CHECK(depth < kDeepest, "{}: folders are nested deeper than {}", folder.string(), kDeepest);
    const auto entries = entries_of(folder);
    if (std::any_of(entries.begin(), entries.end(), is_picture_name)) {
      const std::string name = (folder.has_filename() ? folder : folder.parent_path()).string();
      add_clip({name, true, ""}, std::nullopt, name);
    }
    for (const fs::path& entry : entries) {
      std::error_code ignored;
      if (fs::is_directory(entry, ignored)) {
        add_folder(entry, depth + 1);
      } else if (io::is_readable_video_name(entry.string())) {
        add_clip({entry.string(), false, ""}, std::nullopt, entry.string());
      }
    }
  }

  void add_list(const std::string& path) {
    const std::string text = io::read_whole_file(path, kMaxListBytes);
    const fs::path folder = fs::path(path).parent_path();
    int64_t number = 0;
    const size_t before = files_.size();
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      const std::string_view line(text.data() + begin, end - begin);
      begin = end + 1;
      ++number;
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      add_line(line, folder, fmt::format("{}: line {}", path, number));
    }
    LACT_CHECK(files_.size() > before, "{}: the list names no clip", path);
  }

  void add_line(std::string_view line, const fs::path& folder, const std::string& where) {
    const options::Json json = try_parse_json(line).value_or(nullptr);
    LACT_CHECK(json.is_object(),
               "{} is not a JSON object such as {{\"video\": \"a.mp4\", \"caption\": \"...\"}}", where);
    const auto video = json.find("video"), caption = json.find("caption");
    LACT_CHECK(video != json.end() && video->is_string() && !video->get_ref<const std::string&>().empty(),
               "{} has no \"video\" with the name of a file", where);
    const bool told = caption != json.end() && !caption->is_null();
    LACT_CHECK(!told || caption->is_string(), "{}: \"caption\" is not a string", where);
    const std::string path = (folder / video->get_ref<const std::string&>()).string();
    std::error_code ignored;
    const bool is_folder = fs::is_directory(path, ignored);
    LACT_CHECK(is_folder || fs::is_regular_file(path, ignored), "{}: {} does not exist", where, path);
    add_clip({path, is_folder, ""},
             told ? std::optional(caption_in(caption->get_ref<const std::string&>(), where)) : std::nullopt,
             where);
  }

  void add_clip(ClipFile file, const std::optional<std::string>& caption, const std::string& where) {
    std::vector<fs::path> places;
    if (file.is_folder) {
      places = {file.path + ".txt", fs::path(file.path) / "caption.txt"};
    } else {
      places = {fs::path(file.path).replace_extension(".txt")};
    }
    std::error_code ignored;
    const auto found = std::find_if(places.begin(), places.end(),
                                    [&](const fs::path& place) { return fs::exists(place, ignored); });
    if (caption) {
      file.caption = *caption;
    } else if (found != places.end()) {
      file.caption = caption_in(io::read_whole_file(found->string(), kMaxCaptionBytes), found->string());
    }
    LACT_CHECK(allow_empty_ || !file.caption.empty(),
               "{}: the clip has no caption: write one to {}, or allow empty captions", where,
               places[0].string());
    files_.push_back(std::move(file));
  }

  bool allow_empty_;
  std::vector<ClipFile> files_;
};

}  // namespace

std::vector<ClipFile> find_clip_files(const std::vector<std::string>& paths, bool allow_empty_captions) {
  LACT_CHECK(!paths.empty(), "no clips are given");
  ClipFinder finder(allow_empty_captions);
  for (const std::string& path : paths) finder.add(path);
  return finder.take();
}

std::vector<std::string> find_frames(const std::string& folder) {
  std::vector<std::string> frames;
  for (const fs::path& entry : entries_of(folder))
    if (is_picture_name(entry)) frames.push_back(entry.string());
  LACT_CHECK(!frames.empty(), "{}: the folder holds no PNG or JPEG frame", folder);
  return frames;
}

std::vector<ClipFile> split_clip_files(const std::vector<ClipFile>& files, ClipPart part,
                                       double valid_share) {
  // A clip may be listed several times, with several captions or by several names: it is one file.
  std::map<std::string, std::string> first_names;  // by what they are names of
  std::vector<std::string> paths;
  for (const ClipFile& file : files)
    if (first_names.emplace(file_behind(file.path), file.path).second) paths.push_back(file.path);
  const Split split = split_files(paths, valid_share, 0);
  const auto& chosen = part == ClipPart::train ? split.train : split.valid;
  const std::set<std::string> names(chosen.begin(), chosen.end());
  std::vector<ClipFile> result;
  for (const ClipFile& file : files)
    if (names.count(first_names.at(file_behind(file.path))) > 0) result.push_back(file);
  LACT_CHECK(!result.empty(), "{} is the only clip, so that there is none to validate on", paths[0]);
  return result;
}

}  // namespace lact::data
