#include "lact/bench/peer.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <vector>

#include "lact/base/data_folder.h"
#include "lact/base/error.h"
#include "lact/base/json_text.h"
#include "lact/base/threads.h"
#include "lact/kernels/isa.h"

namespace lact::bench {

namespace fs = std::filesystem;
using options::Json;

namespace {

constexpr double kGreeting = 120;  // seconds to import torch
constexpr size_t kLongestLine = 1 << 20;

/// The best that PyTorch can do: LibTorch's own BLAS and its AVX-512 loops, which it does not choose by
/// itself where cpuinfo is not readable.
std::vector<std::string> peer_environment(int threads) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const auto names = {"LD_LIBRARY_PATH=", "ATEN_CPU_CAPABILITY=", "OMP_NUM_THREADS="};
    if (std::none_of(names.begin(), names.end(),
                     [&](const char* name) { return text.rfind(name, 0) == 0; })) {
      variables.push_back(text);
    }
  }
  const std::string blas = fs::path(blas_file()).parent_path().string();
  if (!blas.empty()) variables.push_back("LD_LIBRARY_PATH=" + blas);
  if (kernels::best_isa() >= kernels::Isa::avx512) variables.push_back("ATEN_CPU_CAPABILITY=avx512");
  variables.push_back("OMP_NUM_THREADS=" + std::to_string(threads));
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> list;
  for (auto& string : strings) list.push_back(string.data());
  list.push_back(nullptr);
  return list;
}

}  // namespace

std::string find_peers() { return find_data_folder({"bench/peers", "peers", "serve.py"}); }

Peer::Peer(const PeerOptions& options) : options_(options) {
  if (options_.folder.empty()) options_.folder = find_peers();
  LACT_CHECK(!options_.folder.empty(), "bench/peers/serve.py was not found; --peers names its folder");
  LACT_CHECK(fs::exists(fs::path(options_.folder) / "serve.py"), "{}: there is no serve.py", options_.folder);
  LACT_CHECK(access(options_.python.c_str(), X_OK) == 0, "{} is not installed", options_.python);
  start();
  try {
    hello_ = ask({{"op", "hello"}});
    version_ = hello_.at("torch").get<std::string>();
  } catch (const nlohmann::json::exception&) {
    end();
    fail("{} does not greet as serve.py does", options_.folder);
  } catch (...) {
    end();
    throw;
  }
}

Peer::~Peer() { end(); }

void Peer::start() {
  int ends[2];
  LACT_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "no socket: {}",
             std::strerror(errno));
  // Everything is made before the fork; the child only calls what is safe there.
  std::vector<std::string> words = {options_.python, "-B", (fs::path(options_.folder) / "serve.py").string(),
                                    "--threads", std::to_string(options_.threads)};
  std::vector<std::string> variables = peer_environment(options_.threads);
  const auto arguments = pointers(words), environment = pointers(variables);
  process_ = fork();
  if (process_ == 0) {
    dup2(ends[1], STDIN_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    // If memory runs out, this process goes first.
    if (const int score = open("/proc/self/oom_score_adj", O_WRONLY); score >= 0) {
      [[maybe_unused]] const auto written = write(score, "1000", 4);
      close(score);
    }
    execve(arguments[0], arguments.data(), environment.data());
    _exit(127);
  }
  close(ends[1]);
  socket_ = ends[0];
  LACT_CHECK(process_ > 0, "{} cannot be started: {}", options_.python, std::strerror(errno));
}

void Peer::end() {
  if (socket_ >= 0) close(socket_);
  if (process_ > 0) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  socket_ = -1;
  process_ = -1;
  received_.clear();
}

void Peer::give_up(const std::string& why) {
  end();
  throw Error("PyTorch " + why);
}

std::string Peer::read_line(double seconds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (true) {
    if (const size_t newline = received_.find('\n'); newline != std::string::npos) {
      const std::string line = received_.substr(0, newline);
      received_.erase(0, newline + 1);
      return line;
    }
    if (received_.size() > kLongestLine) give_up("answered with an endless line");
    const double left = std::chrono::duration<double>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) give_up(fmt::format("gave no answer within {:.0f} s", seconds));
    pollfd waiting = {socket_, POLLIN, 0};
    const int ready = poll(&waiting, 1, int(std::min(left, 1.0) * 1000) + 1);
    if (ready < 0 && errno != EINTR) give_up(std::strerror(errno));
    if (ready <= 0) continue;
    char bytes[4096];
    const ssize_t count = read(socket_, bytes, sizeof bytes);
    if (count == 0 || (count < 0 && errno != EINTR)) give_up("stopped; is python3-torch installed?");
    if (count > 0) received_.append(bytes, size_t(count));
  }
}

Json Peer::ask(const Json& request) {
  LACT_CHECK(alive(), "PyTorch is not running");
  const std::string line = request.dump() + "\n";
  for (size_t sent = 0; sent < line.size();) {
    const ssize_t count = send(socket_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR) give_up("stopped; is python3-torch installed?");
    if (count > 0) sent += size_t(count);
  }
  const bool greeting = version_.empty();
  const std::string answer = read_line(greeting ? kGreeting : options_.longest_answer);
  const Json json = try_parse_json(answer).value_or(nullptr);
  if (!json.is_object()) give_up("answered with something else than JSON");
  if (json.contains("error")) fail("PyTorch: {}", json["error"].dump());
  return json;
}

}  // namespace lact::bench
