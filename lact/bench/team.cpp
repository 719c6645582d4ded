#include "lact/bench/team.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lact/base/error.h"
#include "lact/base/json_text.h"
#include "lact/base/one_sentence.h"
#include "lact/parallel/environment.h"
#include "lact/parallel/launcher.h"

namespace lact::bench {

using options::Json;

namespace {

/// The next line without its end; false where there is none.
bool read_line(FILE* file, std::string& line) {
  char* text = nullptr;
  size_t room = 0;
  const ssize_t length = getline(&text, &room, file);
  const std::unique_ptr<char, void (*)(void*)> owner(text, std::free);
  if (length <= 0) return false;
  line.assign(text, size_t(length) - (text[length - 1] == '\n' ? 1 : 0));
  return true;
}

bool write_line(int socket, const Json& json) {
  const std::string line = json.dump() + "\n";
  return send(socket, line.data(), line.size(), MSG_NOSIGNAL) == ssize_t(line.size());
}

}  // namespace

Team::Team(int64_t ranks, int64_t threads, bool quick) : logs_("") {
  const int64_t port = parallel::free_port();
  for (int64_t rank = 0; rank < ranks; ++rank) {
    int ends[2];
    LACT_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "[bench] no socket: {}",
               std::strerror(errno));
    fcntl(ends[1], F_SETFD, 0);  // the member keeps its end
    ProcessCommand command = {
        .program = "/proc/self/exe",
        .words = {"lact", "-q", "bench", kTeamMember, "--socket", std::to_string(ends[1]), "--threads",
                  std::to_string(threads)},
        .variables = parallel::variables_of(
            {.rank = rank, .world = ranks, .local_rank = rank, .local_world = ranks, .port = port}),
        .log = logs_.file(rank)};
    if (quick) command.words.push_back("--quick");
    command.variables.push_back("OMP_NUM_THREADS=" + std::to_string(threads));
    members_.push_back({std::make_unique<StartedProcess>(command), fdopen(ends[0], "r")});
    close(ends[1]);
  }
}

Team::~Team() {
  for (auto& member : members_) std::fclose(member.line);
}

std::vector<Json> Team::ask(const Json& request) {
  for (const auto& member : members_) write_line(fileno(member.line), request);
  std::vector<Json> answers;
  std::string mistakes;
  for (size_t rank = 0; rank < members_.size(); ++rank) {
    std::string line;
    const bool answered = read_line(members_[rank].line, line);
    answers.push_back(answered ? try_parse_json(line).value_or(Json::object()) : Json::object());
    if (answered && !answers.back().contains("error")) continue;
    mistakes += fmt::format("{}rank {}: {}", mistakes.empty() ? "" : "; ", rank,
                            answered ? answers.back()["error"].get<std::string>()
                                     : "ended; " + members_[rank].process->last_words());
  }
  LACT_CHECK(mistakes.empty(), "[bench] {}", mistakes);
  return answers;
}

void serve_team(int socket, const std::function<Json(const Json&)>& answer) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(fdopen(socket, "r"), std::fclose);
  LACT_CHECK(file != nullptr, "[bench] --socket {} is not open; this verb is for the program itself", socket);
  std::string line;
  while (read_line(file.get(), line)) {
    try {
      write_line(socket, answer(try_parse_json(line).value_or(Json::object())));
    } catch (const std::exception& error) {
      write_line(socket, {{"error", one_sentence(error)}});
      throw;
    }
  }
}

}  // namespace lact::bench
