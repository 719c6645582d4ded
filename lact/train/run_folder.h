// The folder of a run: who may write into it, and the settings that are kept there so that the run can be
// gone on with.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lact/base/error.h"
#include "lact/base/options.h"

namespace lact::train {

/// While it lives, no other run, of this process or another, writes into the folder. The kernel ends the lock
/// with the process, however that ends.
class RunLock {
 public:
  /// Makes the folder if need be, and removes what processes that were killed while they wrote have left in
  /// it. Throws a sentence if the folder is locked.
  explicit RunLock(const std::string& folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  int descriptor_ = -1;
};

/// A new run never overwrites another one.
void check_no_run(const std::string& folder);
/// The opposite, for a run to go on with.
void check_has_run(const std::string& folder);

std::string run_file(const std::string& folder);
void write_run_json(const std::string& folder, const options::Json& json);
/// With the fields of earlier versions in today's form.
options::Json read_run_json(const std::string& folder);

/// A Run has check(), which throws a sentence, and may have in_todays_words(json), which gives fields of its
/// own that earlier versions wrote today's form.
template <class Run>
Run read_run_file(const std::string& folder) {
  check_has_run(folder);
  Run run;
  try {
    options::Json json = read_run_json(folder);
    if constexpr (requires { Run::in_todays_words(json); }) json = Run::in_todays_words(std::move(json));
    options::read(json, run);
    run.check();
  } catch (const Error& error) {
    fail("{}: {}", run_file(folder), error.what());
  }
  return run;
}

/// A relative path would mean something else when the run is resumed from another folder.
void make_absolute(std::vector<std::string>& paths);
/// The same for one that may be empty, or a word that stands for what is built in.
void make_absolute(std::string& path, const std::string& built_in = "");

}  // namespace lact::train
