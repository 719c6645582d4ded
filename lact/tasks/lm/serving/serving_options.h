// How a model is served.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lact/serve/http_server.h"
#include "lact/tasks/lm/engine/engine.h"

namespace lact::tasks::lm {

struct ServingOptions {
  std::string host = "127.0.0.1";
  int64_t port = 8080;
  std::vector<std::string> allow_host = {};
  std::vector<std::string> allow_origin = {};
  std::vector<std::string> api_key = {};
  std::string api_key_file = {};
  int64_t connections = 256;
  int64_t body_mib = 32;
  int64_t max_tokens_limit = 4096;
  int64_t max_choices = 16;
  double request_seconds = 600;
  int64_t slots = 8;
  int64_t prompt_piece = 256;
  int64_t draft_tokens = 3;
  int64_t memory_ram_mib = 2048;
  std::string memory_folder = {};
  int64_t memory_folder_mib = 16384;
  std::string slot_save_path = {};
  std::string chat_template = {};
  std::string alias = {};

  template <class Visitor>
  void visit(Visitor&& field) {
    field("host", host, "address to serve at; others than 127.0.0.1 are open to the network");
    field("port", port, "0: any free one");
    field("allow_host", allow_host, "name by which clients may call this machine; may be given repeatedly");
    field(
        "allow_origin", allow_origin,
        "site whose pages may use the server, such as http://127.0.0.1:3000, or *; may be given repeatedly");
    field("api_key", api_key, "key that clients have to send; may be given repeatedly");
    field("api_key_file", api_key_file, "file with one such key a line, which no list of processes shows");
    field("connections", connections, "clients at once; beyond them idle ones give way");
    field("body_mib", body_mib, "MiB of a request at most");
    field("max_tokens_limit", max_tokens_limit,
          "tokens of one text at most, and where a request does not say how many");
    field("max_choices", max_choices, "texts of one request at most");
    field("request_seconds", request_seconds, "after which a request is given up; 0: never");
    field("slots", slots, "texts that are read and written at once; others wait");
    field("prompt_piece", prompt_piece,
          "tokens of a prompt that are read at once, between those being written");
    field("draft_tokens", draft_tokens, "tokens that the draft model proposes at once");
    field("memory_ram_mib", memory_ram_mib,
          "MiB of memory for states: half for named memories, half for the beginnings of earlier texts");
    field("memory_folder", memory_folder, "folder where both are kept beyond that, and for the next start");
    field("memory_folder_mib", memory_folder_mib, "MiB of disk for these, halved in the same way");
    field("slot_save_path", slot_save_path, "folder for /slots/ID?action=save and restore; none: refused");
    field("chat_template", chat_template,
          "chatml, llama2, llama3, gemma, zephyr, alpaca, plain or a JSON file; by default the model "
          "folder's, or plain");
    field("alias", alias, "name of the model in answers; by default its folder's");
  }
  bool operator==(const ServingOptions&) const = default;

  /// Throws a sentence that names the option.
  void check() const;

  EngineOptions engine() const;
  serve::ServerOptions server() const;
};

}  // namespace lact::tasks::lm
