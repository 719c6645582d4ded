#include "lact/reproduce/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "lact/base/error.h"
#include "lact/reproduce/picture_file.h"
#include "support/sample_report.h"
#include "support/temporary_folder.h"

namespace lact::reproduce {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TemporaryFolder;
using ::testing::UnorderedElementsAre;

const std::string kPng = std::string("\x89PNG\r\n\x1a\n") + "pixels <\"";

std::string refusal(const TemporaryFolder& folder, const std::string& json) {
  testing::write_file(folder / "report.json", json);
  return testing::sentence_of<Error>([&] { read_report(folder / "report.json"); });
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  return names;
}

TEST(Report, WritesAllItsFiles) {
  const TemporaryFolder folder;
  testing::write_file(folder / "render.png", kPng);
  write_report(testing::sample_report(folder / "render.png"), folder / "out/deep");
  const std::string out = folder / "out/deep";
  EXPECT_THAT(names_in(out),
              UnorderedElementsAre("report.json", "report.html", "report.md", "figures", "pictures"));
  EXPECT_THAT(names_in(out + "/figures"),
              UnorderedElementsAre("fig1a_1.svg", "fig4_1.svg", "fig4_2.svg", "fig5_1.svg", "fig5_2.svg"));
  EXPECT_THAT(names_in(out + "/pictures"), ElementsAre("fig4_1.png"));
  EXPECT_EQ(testing::read_file(out + "/pictures/fig4_1.png"), kPng);
  EXPECT_THAT(testing::read_file(out + "/figures/fig1a_1.svg"),
              AllOf(HasSubstr("fill-opacity"), HasSubstr("stroke-dasharray"), HasSubstr(">2048</text>")));
}

TEST(Report, IsReadBackAndWrittenAgainTheSame) {
  const TemporaryFolder folder;
  testing::write_file(folder / "render.png", kPng);
  write_report(testing::sample_report(folder / "render.png"), folder / "one");
  const Report report = read_report(folder / "one/report.json");
  EXPECT_EQ(report.sections[1].pictures[0].file, folder / "one/pictures/fig4_1.png");
  EXPECT_TRUE(std::isnan(report.sections[0].charts[0].lines[1].y[3]));
  EXPECT_EQ(report.sections[0].charts[0].lines[1].y[4], 2900);
  write_report(report, folder / "two");
  write_report(read_report(folder / "two/report.json"), folder / "two");  // over itself
  for (const char* name :
       {"/report.json", "/report.md", "/report.html", "/pictures/fig4_1.png", "/figures/fig5_1.svg"})
    EXPECT_EQ(testing::read_file(folder / "two" + name), testing::read_file(folder / "one" + name)) << name;
}

TEST(Report, AMissingPictureIsANoteAndNotTheEnd) {
  const TemporaryFolder folder;
  testing::write_file(folder / "text.png", "no picture");
  Report report = testing::sample_report(folder / "gone.png");
  report.sections[1].pictures.push_back({folder / "text.png", "second"});
  write_report(report, folder / "out");
  const Report again = read_report(folder / "out/report.json");
  EXPECT_TRUE(again.sections[1].pictures.empty());
  const auto& notes = again.sections[1].notes;
  EXPECT_THAT(notes[notes.size() - 2], HasSubstr("gone.png: does not exist"));
  EXPECT_THAT(notes.back(), AllOf(HasSubstr("\"second\""), HasSubstr("neither a PNG nor a JPEG")));
}

TEST(Report, WhatDoesNotFitTogetherIsNotWritten) {
  const TemporaryFolder folder;
  Report report = testing::sample_report("");
  report.sections[0].tables[0].rows[1].pop_back();
  EXPECT_EQ(testing::sentence_of<Error>([&] { write_report(report, folder / "out"); }),
            "sections.0.tables.0.rows.1 has 3 cells, expected 4 as in the header");
  report = testing::sample_report("");
  report.sections[2].id = "fig1a";
  EXPECT_THAT(testing::sentence_of<Error>([&] { write_report(report, folder / "out"); }),
              HasSubstr("sections.2.id is \"fig1a\", as in an earlier section"));
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  testing::write_file(folder / "file", "");
  EXPECT_THAT(testing::sentence_of<Error>([&] { write_report(Report{}, folder / "file"); }),
              HasSubstr("the folder cannot be made"));
}

TEST(Report, ABrokenFileIsNamedWithItsField) {
  const TemporaryFolder folder;
  EXPECT_THAT(testing::sentence_of<Error>([&] { read_report(folder / "none.json"); }),
              HasSubstr("none.json: "));
  EXPECT_THAT(refusal(folder, "{\"sections\": [{\"id\""), HasSubstr("report.json"));
  EXPECT_THAT(refusal(folder, "{}"), HasSubstr("report.json: it has no field sections"));
  EXPECT_THAT(refusal(folder, "[]"), HasSubstr("report.json: it has no field sections"));
  EXPECT_THAT(refusal(folder, "{\"sections\": 3}"), HasSubstr("report.json: sections is 3, expected a list"));
  EXPECT_THAT(refusal(folder, "{\"sections\": [], \"seed\": 3}"),
              HasSubstr("unknown option seed; did you mean seeds?"));
  EXPECT_THAT(
      refusal(folder, "{\"sections\": [{\"id\": \"a\", \"findings\": [{\"verdict\": \"maybe\"}]}]}"),
      HasSubstr(
          "report.json: sections.0.findings.0.verdict is \"maybe\", expected one of holds, does not hold"));
  EXPECT_THAT(
      refusal(folder,
              "{\"sections\": [{\"id\": \"a\", \"charts\": [{\"lines\": [{\"x\": [1], \"y\": []}]}]}]}"),
      HasSubstr("report.json: sections.0.charts.0.lines.0.y has 0 values, expected 1"));
  EXPECT_THAT(refusal(folder, "{\"sections\": [{\"id\": \"a\", \"seconds\": null}]}"),
              HasSubstr("sections.0.seconds is null, expected a number"));
  for (const char* file : {"/etc/x.png", "../x.png", "pictures/../../x.png", ""}) {
    EXPECT_THAT(refusal(folder, "{\"sections\": [{\"id\": \"a\", \"pictures\": [{\"file\": \"" +
                                    std::string(file) + "\"}]}]}"),
                HasSubstr("sections.0.pictures.0.file is"));
  }
  EXPECT_EQ(refusal(folder, "{\"sections\": [{\"id\": \"a\", \"notes\": [\"failed\"]}]}"), "");
}

TEST(Report, JsonKeepsACurveOnOneLine) {
  const TemporaryFolder folder;
  write_report(testing::sample_report(""), folder / "out");
  const std::string json = testing::read_file(folder / "out/report.json");
  EXPECT_THAT(json, HasSubstr("\"y\": [180.0,420.0,900.0,null,2900.0,"));
  EXPECT_THAT(json, HasSubstr("\n   \"id\": \"fig1a\",\n"));
}

TEST(Report, BytesThatAreNoTextAreReplaced) {
  const TemporaryFolder folder;
  Report report = testing::sample_report("");
  report.sections[3].notes = {"bad \xff byte"};
  write_report(report, folder / "out");
  EXPECT_EQ(read_report(folder / "out/report.json").sections[3].notes[0], "bad \xef\xbf\xbd byte");
}

TEST(PictureFile, IsToldByItsFirstBytes) {
  EXPECT_EQ(picture_type(kPng), "image/png");
  EXPECT_EQ(picture_type("\xff\xd8\xff\xe0"), "image/jpeg");
  EXPECT_EQ(picture_type("<svg onload=x>"), "");
  EXPECT_EQ(picture_type(""), "");
}

}  // namespace
}  // namespace lact::reproduce
