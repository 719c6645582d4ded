// Who may use the server.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lact/serve/http_message.h"

namespace lact::tasks::lm {

class ApiKeys {
 public:
  /// No keys: everybody may. Throws a sentence for a key that no header can carry.
  explicit ApiKeys(std::vector<std::string> keys);

  /// By "Authorization: Bearer KEY" or "X-Api-Key: KEY".
  bool allow(const serve::HttpRequest& request) const;
  bool empty() const { return keys_.empty(); }

 private:
  std::vector<std::string> keys_;
};

/// Keys as a file has them, one a line; empty lines and those that begin with # do not count.
std::vector<std::string> read_api_keys(const std::string& file);

/// Takes as long for a wrong text as for the right one, so that nothing can be learned of `secret` but,
/// perhaps, its length.
bool equal_in_constant_time(std::string_view given, std::string_view secret);

}  // namespace lact::tasks::lm
