// PyTorch in a process of its own, which runs bench/peers/serve.py: one line of JSON asks, one line answers.
// It lives as long as the benchmark, so that its runs and ours can take turns.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "lact/base/options.h"

namespace lact::bench {

struct PeerOptions {
  std::string python = "/usr/bin/python3";
  std::string folder;            ///< of serve.py; empty: looked for, see find_peers
  int threads = 1;               ///< a session gives it as many as we have
  double longest_answer = 1200;  ///< seconds; a process that takes longer is ended
};

/// The folder of serve.py: bench/peers or share/lact/peers in a folder above the program or the current one.
/// Empty if there is none.
std::string find_peers();

class Peer {
 public:
  /// Starts the process and greets it. Throws lact::Error with one sentence if it cannot run.
  explicit Peer(const PeerOptions& options);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// The answer. Throws lact::Error if the process is gone, says rubbish, takes too long (these end it), or
  /// reports that it could not do this (it lives on).
  options::Json ask(const options::Json& request);

  bool alive() const { return process_ > 0; }
  const std::string& version() const { return version_; }
  /// Whether it has "compile" or "scaled_dot_product_attention".
  bool has(const std::string& name) const { return hello_.value(name, false); }

 private:
  void start();
  void end();
  std::string read_line(double seconds);
  [[noreturn]] void give_up(const std::string& why);

  PeerOptions options_;
  pid_t process_ = -1;
  int socket_ = -1;
  std::string received_;  ///< bytes after the last line
  std::string version_;
  options::Json hello_;
};

}  // namespace lact::bench
