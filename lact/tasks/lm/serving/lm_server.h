// A language model over HTTP, with the paths and shapes of llama.cpp's server, memories that have names, and
// a page to talk to it. docs/server.md lists everything.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lact/tasks/lm/serving/api_keys.h"
#include "lact/tasks/lm/serving/routes.h"
#include "lact/tasks/lm/serving/serving_parts.h"

namespace lact::tasks::lm {

class LmServer {
 public:
  /// Answers from now on. A mistake in the options, or a port that is taken, throws a sentence.
  LmServer(Loaded lm, std::optional<Loaded> draft, const ServingOptions& options);
  /// Tells clients that are waiting, and ends all texts.
  ~LmServer();

  std::string url() const { return server_->url(); }
  int port() const { return server_->port(); }
  Engine& engine() { return parts_.engine; }

 private:
  serve::ServerHandlers handlers();
  void receive(serve::HttpRequest request, const serve::HttpReply& reply);
  std::optional<serve::HttpResponse> refusal(const serve::HttpRequest& head) const;
  size_t body_limit(const serve::HttpRequest& head) const;

  const ApiKeys keys_;
  const size_t longest_memory_file_;  ///< bytes
  ServingParts parts_;
  Routes routes_;
  std::optional<serve::HttpServer> server_;  // its thread uses everything above
};

/// The page: web/dist/chat.html, as it is in the program.
std::string_view chat_page();

/// Prints "serving: http://127.0.0.1:PORT/" to stdout and serves until Ctrl-C. Returns the program's exit
/// code.
int run_lm_server(Loaded lm, std::optional<Loaded> draft, const ServingOptions& options);

}  // namespace lact::tasks::lm
