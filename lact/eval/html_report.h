// A page of results that is one file: text, tables, charts and pictures, nothing loaded from elsewhere.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "lact/eval/plot.h"

namespace lact::eval {

/// Parts appear in the order of the calls. All text is plain text: what looks like markup is shown as it is.
class HtmlReport {
 public:
  explicit HtmlReport(std::string title) : title(std::move(title)) {}

  std::string title;

  void heading(const std::string& text);
  void paragraph(const std::string& text);
  /// Each row has as many cells as the header; cells that hold a number are aligned to the right.
  void table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);
  void figure(const Plot& plot, const std::string& caption);
  /// uint8 [H, W, 3]; stored inside the page as a JPEG of high quality.
  void picture(const at::Tensor& image, const std::string& caption);
  /// Lines and blanks stay as they are.
  void code(const std::string& text);

  std::string html() const;

  /// Written whole or not at all.
  void write(const std::string& path) const;

 private:
  void add_figure(const std::string& markup, const std::string& caption);

  std::string body_;
};

}  // namespace lact::eval
