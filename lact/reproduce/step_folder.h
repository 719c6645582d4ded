// The folder of a step: what it printed and wrote, and whether it is finished.
#pragma once

#include <optional>
#include <string>

#include "lact/base/options.h"
#include "lact/reproduce/step.h"

namespace lact::reproduce {

inline constexpr const char* kOutputFile = "stdout.txt";
inline constexpr const char* kLogFile = "log.txt";

/// step.json: only finished steps have it.
struct StepRecord {
  std::string id, label, command, machine;
  Words words;
  double seconds = 0;
  int64_t cores = 1;
  int64_t exit_code = 0;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("id", id, "of the step");
    field("label", label, "for people");
    field("words", words, "of the command, as they were given");
    field("command", command, "as a user would type it");
    field("seconds", seconds, "that it took, all parts of an interrupted one together");
    field("cores", cores, "that it had");
    field("machine", machine, "that it ran on");
    field("exit_code", exit_code, "of the last part");
  }
};

/// Tells steps apart whose results may differ: a hash of 12 digits over the words, in which the keys of other
/// steps stand for their folders, and over what the words mean (a preset's fields, say).
std::string step_key(const Words& words, const std::string& meaning);

class StepFolder {
 public:
  StepFolder(const std::string& out, const std::string& id, const std::string& key);

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  /// Nothing if it is not; a sentence that names step.json if that is damaged.
  std::optional<StepRecord> finished() const;
  void finish(const StepRecord& record) const;

  /// Of the parts before this one, for a step that goes on.
  double seconds_before() const;
  void remember_seconds(double seconds) const;

  void create() const;
  /// Removes it with all that an unfinished attempt has left.
  void clear() const;

 private:
  std::string path_;
};

}  // namespace lact::reproduce
