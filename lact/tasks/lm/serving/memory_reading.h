// Documents become a named memory: read by the engine between the texts of others, so that nobody waits.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lact/tasks/lm/serving/long_answer.h"
#include "lact/tasks/lm/serving/serving_parts.h"

namespace lact::tasks::lm {

struct MemoryWish {
  std::string name;
  std::vector<std::string> documents;  ///< an end-of-text token stands between them
  std::string memory;                  ///< reads on from this one; "": from nothing
  bool replace = false, stream = false;
};

/// From JSON: {"name", "text" | "documents", "memory", "replace", "stream"}.
MemoryWish parse_memory_wish(const ApiJson& body);

/// {"object": "memory", "name", "tokens", "bytes", "created", "in_ram", "on_disk"}
ApiJson memory_json(const MemoryInfo& info);

class MemoryReading : public LongAnswer {
 public:
  MemoryReading(ServingParts& parts, MemoryWish wish, serve::HttpReply reply);

  /// Throws what is wrong with the wish; from then on the answer is on its way.
  void start();

 private:
  std::shared_ptr<MemoryReading> self() {
    return std::static_pointer_cast<MemoryReading>(shared_from_this());
  }
  std::vector<int64_t> tokens(const TextState& from) const;
  void conclude(const TextOutcome& outcome);

  ServingParts& parts_;
  const MemoryWish wish_;
};

}  // namespace lact::tasks::lm
