// The settings of a run, kept in its folder so that it can be gone on with.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lact/base/error.h"
#include "lact/base/options.h"
#include "lact/io/atomic_file.h"

namespace lact::train {

inline std::string run_file(const std::string& folder) {
  return (std::filesystem::path(folder) / "run.json").string();
}

/// A new run never overwrites another one.
inline void check_no_run(const std::string& folder) {
  LACT_CHECK(!std::filesystem::exists(run_file(folder)),
             "{}: holds a run already; continue it with --resume, or choose another folder", folder);
}

template <class Run>
void write_run_file(const std::string& folder, const Run& run) {
  const std::string json = options::write(run).dump(2) + "\n";
  io::write_file_atomically(run_file(folder), [&](io::FileWriter& out) { out.write(json); });
}

/// A Run has check(), which throws a sentence.
template <class Run>
Run read_run_file(const std::string& folder) {
  LACT_CHECK(std::filesystem::exists(run_file(folder)), "{}: holds no run to resume: run.json is missing",
             folder);
  Run run;
  try {
    options::Json json = options::read_json_file(run_file(folder));
    // Runs of earlier versions know only blocks, as a yes or no.
    if (const auto found = json.find("recompute"); found != json.end() && found->is_boolean()) {
      *found = found->template get<bool>() ? "blocks" : "none";
    }
    options::read(json, run);
    run.check();
  } catch (const Error& error) {
    fail("{}: {}", run_file(folder), error.what());
  }
  return run;
}

/// A relative path would mean something else when the run is resumed from another folder.
inline void make_absolute(std::vector<std::string>& paths) {
  for (auto& path : paths) path = std::filesystem::absolute(path).lexically_normal().string();
}

}  // namespace lact::train
