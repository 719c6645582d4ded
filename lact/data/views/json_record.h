// Fields of a JSON object from outside, each checked; unknown ones are left alone, since camera files carry
// all kinds of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lact/base/options.h"
#include "lact/data/views/pose.h"

namespace lact::data {

class JsonRecord {
 public:
  /// `where` names the object in errors: "transforms.json: frames.3". The JSON must outlive the record.
  JsonRecord(const options::Json& json, std::string where);

  bool has(const std::string& key) const { return json_.contains(key); }
  const options::Json& at(const std::string& key) const;
  /// "transforms.json: frames.3.fl_x"
  std::string name(const std::string& key) const;
  const std::string& where() const { return where_; }

  /// Finite.
  double number(const std::string& key) const;
  std::optional<double> find_number(const std::string& key) const;
  /// A width or height: a whole number of pixels (perhaps written 640.0), from 1.
  int64_t pixels(const std::string& key) const;
  std::string text(const std::string& key) const;
  /// Three or four rows of four numbers; without a fourth row it is 0 0 0 1. Checked by check_pose.
  Pose pose(const std::string& key) const;

  [[noreturn]] void wrong(const std::string& key, const std::string& expected) const;

 private:
  const options::Json& json_;
  std::string where_;
};

/// A JSON file of at most 256 MB.
options::Json read_camera_json(const std::string& path);

}  // namespace lact::data
