// Processes of this very program that do the same thing together, for what is measured between processes.
// They live as long as the team, so that its turns and those of others can alternate.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "lact/base/options.h"
#include "lact/base/started_process.h"
#include "lact/parallel/log_folder.h"

namespace lact::bench {

/// What stands behind `lact bench` in the words of a member; it calls serve_team.
inline constexpr const char* kTeamMember = "rank";

class Team {
 public:
  /// Ranks 0, 1, ... of a job, with so many threads each.
  Team(int64_t ranks, int64_t threads, bool quick);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Asks all; returns the answer of each when the last has given it. Throws a sentence if one has failed.
  std::vector<options::Json> ask(const options::Json& request);

 private:
  struct Member {
    std::unique_ptr<StartedProcess> process;
    FILE* line = nullptr;  ///< a socket: a line of JSON there, a line back
  };
  static std::string send_to(const Member& member, const options::Json& request);

  parallel::LogFolder logs_;
  std::vector<Member> members_;
};

/// The other end: answers what comes along a socket of this process until it is closed, or until something
/// throws, which is told.
void serve_team(int socket, const std::function<options::Json(const options::Json&)>& answer);

}  // namespace lact::bench
