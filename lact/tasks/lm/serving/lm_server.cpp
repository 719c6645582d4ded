#include "lact/tasks/lm/serving/lm_server.h"

#include <ATen/ATen.h>

#include <chrono>
#include <iostream>
#include <thread>

#include "lact/base/interrupt.h"
#include "lact/base/log.h"
#include "lact/serve/same_site.h"

namespace lact::tasks::lm {

namespace {

constexpr unsigned char kChatPage[] = {
#include "lact/tasks/lm/serving/chat_page.inc"
};

constexpr std::chrono::milliseconds kBetweenLooks{50};
constexpr std::chrono::milliseconds kTimeToSayGoodbye{1000};
constexpr std::chrono::milliseconds kOnItsWay{20};  // from an answer's end to the network

ApiKeys keys_of(const ServingOptions& options) {
  options.check();
  auto keys = options.api_key;
  if (!options.api_key_file.empty()) {
    for (auto& key : read_api_keys(options.api_key_file)) keys.push_back(std::move(key));
  }
  return ApiKeys(std::move(keys));
}

/// What is told to everybody, with or without a key.
bool is_public(const serve::HttpRequest& request) {
  const std::string& path = request.path;
  return path == "/health" || path == "/v1/health" || path == "/";
}

bool is_memory_file(const serve::HttpRequest& request) {
  return match_path("/v1/memories/{name}/file", request.path).has_value();
}

/// A memory file has the size of the model's state, whatever was read, and some more for names and shapes.
size_t longest_memory_file_of(const Loaded& lm) {
  const at::NoGradGuard no_grad;
  const auto state = lm.model->initial_state(1);
  const auto& config = lm.model->config();
  const size_t rows = size_t(config.chunk_size + config.window_size) * size_t(config.num_layers);
  // Keys, values, queries, rates and outputs of a chunk and a window that are full, in float32.
  return size_t(models::state_bytes(*state)) + rows * size_t(config.model_dim) * 8 * sizeof(float) +
         (8 << 20);
}

}  // namespace

std::string_view chat_page() { return {reinterpret_cast<const char*>(kChatPage), sizeof(kChatPage)}; }

LmServer::LmServer(Loaded lm, std::optional<Loaded> draft, const ServingOptions& options)
    : keys_(keys_of(options)),
      longest_memory_file_(longest_memory_file_of(lm)),
      parts_(std::move(lm), std::move(draft), options) {
  routes_.add(generation_routes(parts_));
  routes_.add(token_routes(parts_));
  routes_.add(status_routes(parts_));
  routes_.add(slot_routes(parts_));
  routes_.add(memory_routes(parts_));
  server_.emplace(options.server(), handlers());
  server_->start();
}

LmServer::~LmServer() {
  if (!server_) return;
  const bool anyone = parts_.long_answers.count() > 0;
  parts_.long_answers.give_up_all("The server is shutting down.");
  const auto until = std::chrono::steady_clock::now() + kTimeToSayGoodbye;
  while (parts_.long_answers.count() > 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (anyone) std::this_thread::sleep_for(kOnItsWay);
  server_.reset();
}

serve::ServerHandlers LmServer::handlers() {
  serve::ServerHandlers handlers;
  handlers.request = [this](serve::HttpRequest request, const serve::HttpReply& reply) {
    receive(std::move(request), reply);
  };
  handlers.refuse = [this](const serve::HttpRequest& head) { return refusal(head); };
  handlers.body_limit = [this](const serve::HttpRequest& head) { return body_limit(head); };
  handlers.refusal = error_response;
  return handlers;
}

std::optional<serve::HttpResponse> LmServer::refusal(const serve::HttpRequest& head) const {
  if (is_public(head) || keys_.allow(head)) return std::nullopt;
  return error_response(401, "This server wants an API key: send \"Authorization: Bearer KEY\".");
}

size_t LmServer::body_limit(const serve::HttpRequest& head) const {
  const auto usual = size_t(parts_.options.body_mib) << 20;
  return is_memory_file(head) ? std::max(usual, longest_memory_file_) : usual;
}

/// What is quick is answered here, so that it never waits for what is not.
void LmServer::receive(serve::HttpRequest request, const serve::HttpReply& reply) {
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (reads && request.path == "/") {
    return reply.send({200, "text/html; charset=utf-8", std::string(chat_page())});
  }
  if (reads && is_public(request)) return reply.send(json_response({{"status", "ok"}}));
  parts_.work.push([this, request = std::move(request), reply] {
    if (!reply.gone()) routes_.answer(request, reply);
  });
}

int run_lm_server(Loaded lm, std::optional<Loaded> draft, const ServingOptions& options) {
  const Interrupt interrupt;
  LmServer server(std::move(lm), std::move(draft), options);
  std::cout << "serving: " << server.url() << std::endl;
  const bool open = options.api_key.empty() && options.api_key_file.empty();
  if (open && !serve::is_loopback(options.host)) {
    log::warn("[serve] everyone who can reach {} over the network can use the model; --api-key limits it",
              options.host);
  }
  log::info("open it in a browser, or let programs talk to {}v1; Ctrl-C stops", server.url());
  while (!interrupt.requested()) std::this_thread::sleep_for(kBetweenLooks);
  log::info("stopping");
  return 0;
}

}  // namespace lact::tasks::lm
