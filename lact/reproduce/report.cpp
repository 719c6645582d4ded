#include "lact/reproduce/report.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>

#include "lact/base/error.h"
#include "lact/io/atomic_file.h"
#include "lact/reproduce/picture_file.h"
#include "lact/reproduce/report_markdown.h"
#include "lact/reproduce/report_page.h"
#include "lact/reproduce/report_parts.h"

namespace lact::reproduce {

namespace {

void write_report_file(const std::string& path, const std::string& text) {
  io::write_file_atomically(path, [&](io::FileWriter& file) { file.write(text); });
}

/// Lists of plain values on one line, everything else indented: a curve is a line and not a thousand.
std::string readable_json(const options::Json& json, int depth = 0) {
  const bool nested = json.is_structured() && std::any_of(json.begin(), json.end(), [&](const auto& item) {
                        return json.is_object() || item.is_structured();
                      });
  if (!nested) return json.dump(-1, ' ', false, options::Json::error_handler_t::replace);
  const std::string indent = "\n" + std::string(size_t(depth) + 1, ' ');
  std::string text(1, json.is_object() ? '{' : '[');
  for (auto item = json.begin(); item != json.end(); ++item) {
    if (item != json.begin()) text += ",";
    text += indent;
    if (json.is_object()) text += options::Json(item.key()).dump() + ": ";
    text += readable_json(*item, depth + 1);
  }
  return text + "\n" + std::string(size_t(depth), ' ') + (json.is_object() ? '}' : ']');
}

void check_sections(const Report& report) {
  std::set<std::string> ids;
  for (size_t i = 0; i < report.sections.size(); ++i) {
    check_section(report.sections[i], fmt::format("sections.{}", i));
    LACT_CHECK(ids.insert(report.sections[i].id).second, "sections.{}.id is \"{}\", as in an earlier section",
               i, report.sections[i].id);
  }
}

/// Copies the pictures below `folder` and names these copies.
void keep_pictures(Section& section, const std::string& folder) {
  std::vector<Picture> kept;
  for (size_t i = 0; i < section.pictures.size(); ++i) {
    Picture picture = section.pictures[i];
    try {
      const std::string bytes = read_picture(picture.file);
      picture.file = fmt::format("pictures/{}_{}.{}", section.id, i + 1,
                                 picture_type(bytes) == "image/png" ? "png" : "jpg");
      write_report_file(folder + "/" + picture.file, bytes);
      kept.push_back(std::move(picture));
    } catch (const Error& error) {
      section.notes.push_back(
          fmt::format("The picture \"{}\" is missing: {}", picture.caption, error.what()));
    }
  }
  section.pictures = std::move(kept);
}

/// JSON has no NaN: it was written as null.
void restore_missing_values(options::Json& report) {
  const auto each = [](options::Json& json, const char* name, const auto& use) {
    if (!json.is_object() || !json.contains(name) || !json[name].is_array()) return;
    for (auto& item : json[name]) use(item);
  };
  each(report, "sections", [&](options::Json& section) {
    each(section, "charts", [&](options::Json& chart) {
      each(chart, "lines", [&](options::Json& line) {
        for (const char* name : {"x", "y", "low", "high"})
          each(line, name, [](options::Json& value) {
            if (value.is_null()) value = std::numeric_limits<double>::quiet_NaN();
          });
      });
    });
  });
}

/// A report names pictures of its own folder, and of no other.
void find_pictures(Report& report, const std::filesystem::path& folder) {
  for (size_t i = 0; i < report.sections.size(); ++i) {
    auto& pictures = report.sections[i].pictures;
    for (size_t k = 0; k < pictures.size(); ++k) {
      const std::filesystem::path file = pictures[k].file;
      LACT_CHECK(
          !file.empty() && file.is_relative() && std::find(file.begin(), file.end(), "..") == file.end(),
          "sections.{}.pictures.{}.file is \"{}\", expected a file below the report's folder", i, k,
          pictures[k].file);
      pictures[k].file = (folder / file).string();
    }
  }
}

}  // namespace

void write_report(const Report& report, const std::string& folder) {
  check_sections(report);
  for (const char* name : {"figures", "pictures"}) {
    std::error_code error;
    std::filesystem::create_directories(folder + "/" + name, error);
    LACT_CHECK(!error, "{}/{}: the folder cannot be made: {}", folder, name, error.message());
  }
  Report kept = report;
  for (Section& section : kept.sections) {
    keep_pictures(section, folder);
    for (size_t i = 0; i < section.charts.size(); ++i)
      eval::write_svg(folder + "/" + figure_file(section, i), chart_plot(section.charts[i]));
  }
  write_report_file(folder + "/report.json", readable_json(options::write(kept)) + "\n");
  write_report_file(folder + "/report.md", report_markdown(kept));
  write_report_file(folder + "/report.html", report_page(kept, folder));
}

Report parse_report(options::Json json) {
  LACT_CHECK(json.is_object() && json.contains("sections"), "it has no field sections");
  restore_missing_values(json);
  Report report;
  try {
    options::read(json, report);
  } catch (const Error& error) {
    const std::string sentence = error.what();
    const std::string_view prefix = "[options] ";
    fail("{}", sentence.starts_with(prefix) ? sentence.substr(prefix.size()) : sentence);
  }
  check_sections(report);
  return report;
}

Report read_report(const std::string& path) {
  const options::Json json = options::read_json_file(path);
  try {
    Report report = parse_report(json);
    find_pictures(report, std::filesystem::path(path).parent_path());
    return report;
  } catch (const Error& error) {
    fail("{}: {}", path, error.what());
  }
}

}  // namespace lact::reproduce
