#include "lact/reproduce/report_page.h"

#include "lact/base/error.h"
#include "lact/base/format.h"
#include "lact/eval/markup.h"
#include "lact/reproduce/picture_file.h"
#include "lact/reproduce/report_parts.h"

namespace lact::reproduce {

namespace {

constexpr unsigned char kReportPage[] = {
#include "lact/reproduce/report_page.inc"
};
constexpr std::string_view kPlaceOfReport = "/* report.json */";

options::Json page_section(const Section& section, const std::string& folder) {
  options::Json json = options::write(section);
  json["verdict"] = options::write(section.verdict());
  json["time"] = section.seconds > 0 ? format_duration(section.seconds) : "";
  for (size_t i = 0; i < section.tables.size(); ++i) {
    options::Json quantities = options::Json::array();
    for (size_t k = 0; k < section.tables[i].header.size(); ++k)
      quantities.push_back(holds_quantities(section.tables[i], k));
    json["tables"][i]["quantities"] = quantities;
  }
  for (size_t i = 0; i < section.pictures.size(); ++i) {
    const std::string bytes = read_picture(folder + "/" + section.pictures[i].file);
    json["pictures"][i]["address"] =
        fmt::format("data:{};base64,{}", picture_type(bytes), eval::base64(bytes));
  }
  return json;
}

/// JSON as it may stand inside of a script element: nothing in it can end the element or begin a comment.
std::string script_text(const options::Json& json) {
  std::string text;
  for (const char c : json.dump(-1, ' ', false, options::Json::error_handler_t::replace)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string_view empty_report_page() {
  return {reinterpret_cast<const char*>(kReportPage), sizeof(kReportPage)};
}

std::string report_page(const Report& report, const std::string& folder) {
  options::Json json = options::write(report);
  json["tally"] = tally(report);
  json["circumstances"] = circumstances(report);
  for (size_t i = 0; i < report.sections.size(); ++i)
    json["sections"][i] = page_section(report.sections[i], folder);
  const std::string_view page = empty_report_page();
  const size_t place = page.find(kPlaceOfReport);
  LACT_ASSERT(place != std::string_view::npos);
  return std::string(page.substr(0, place)) + script_text(json) +
         std::string(page.substr(place + kPlaceOfReport.size()));
}

}  // namespace lact::reproduce
