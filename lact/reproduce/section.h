// What the report says about one figure or table of the paper. Numbers only: a verdict is computed by the
// rule that it states (verdict.h), never written by hand.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lact/base/options.h"

namespace lact::reproduce {

/// A line with the spread of its seeds: `low` and `high` are empty or as long as `y`.
struct Line {
  std::string name;
  std::vector<double> x, y, low, high;
  bool dashed = false;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("name", name, "in the legend");
    field("x", x, "places");
    field("y", y, "values: means over seeds");
    field("low", low, "mean minus the standard deviation of the seeds; empty for one seed");
    field("high", high, "mean plus the standard deviation of the seeds");
    field("dashed", dashed, "a limit or a figure of the paper");
  }
};

struct Chart {
  std::string title, x_label, y_label;
  bool log_x = false;
  std::vector<Line> lines;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("title", title, "above the chart");
    field("x_label", x_label, "with the unit");
    field("y_label", y_label, "with the unit");
    field("log_x", log_x, "logarithmic");
    field("lines", lines, "one per contender");
  }
};

struct Table {
  std::string title;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("title", title, "above the table");
    field("header", header, "names of the columns");
    field("rows", rows, "cells as text, as many as the header has");
  }
};

/// A picture that a step left in its folder.
struct Picture {
  std::string file, caption;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("file", file, "PNG or JPEG; beside the report where it is written");
    field("caption", caption, "what is to be seen");
  }
};

enum class Verdict { holds, does_not_hold, inconclusive };
constexpr std::array<std::pair<Verdict, std::string_view>, 3> enum_names(Verdict) {
  return {{{Verdict::holds, "holds"},
           {Verdict::does_not_hold, "does not hold"},
           {Verdict::inconclusive, "inconclusive"}}};
}

/// One statement that a rule decides about.
struct Finding {
  std::string statement;  ///< "LaCT with Muon has a lower loss than LaCT with gradient descent"
  std::string rule;       ///< what decides, in words
  std::string because;    ///< the numbers it was applied to
  Verdict verdict = Verdict::inconclusive;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("statement", statement, "what the paper says");
    field("rule", rule, "what decides about it");
    field("because", because, "the numbers");
    field("verdict", verdict, "holds, does not hold, or inconclusive at this size");
  }
};

struct Section {
  std::string id, title, claim;
  std::vector<std::string> paper;  ///< what the paper prints, a sentence or figure each
  std::vector<Finding> findings;
  std::vector<Chart> charts;
  std::vector<Table> tables;
  std::vector<Picture> pictures;
  std::vector<std::string>
      notes;  ///< parameters and tokens, how alike the contenders are, what differs from the paper
  std::vector<std::string> commands;  ///< filled in by the suite
  double seconds = 0;                 ///< of one core, all steps together; filled in by the suite

  /// Of all findings: holds if every one does, does not hold if one does not, else inconclusive.
  Verdict verdict() const;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("id", id, "as in --only");
    field("title", title, "the heading");
    field("claim", claim, "the paper's, in one sentence");
    field("paper", paper, "the paper's numbers");
    field("findings", findings, "statements with their verdicts");
    field("charts", charts, "");
    field("tables", tables, "");
    field("pictures", pictures, "");
    field("notes", notes, "what was equal, and what was not");
    field("commands", commands, "what a user would type");
    field("seconds", seconds, "of one core");
  }
};

/// Throws a sentence that names the field (below `path`) where lengths do not fit each other, or an id could
/// not be part of a file's name.
void check_section(const Section& section, const std::string& path);

/// Where and how all of it ran.
struct Report {
  std::string title = "Large-Chunk Test-Time Training in miniature";
  std::string budget, machine, version, date;
  int64_t seeds = 1;
  std::vector<Section> sections;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("title", title, "");
    field("budget", budget, "smoke, 2h, 8h or overnight");
    field("machine", machine, "processor, instruction set and cores");
    field("version", version, "of lact and LibTorch");
    field("date", date, "when it was written");
    field("seeds", seeds, "of each training");
    field("sections", sections, "in the paper's order");
  }
};

}  // namespace lact::reproduce
