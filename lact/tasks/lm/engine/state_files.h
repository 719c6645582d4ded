// States of texts in a folder, one memory file each, named by the digest of their tokens.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lact/models/lm/token_history.h"
#include "lact/tasks/lm/engine/text_state.h"

namespace lact::tasks::lm {

class StateFiles {
 public:
  /// FOLDER/FINGERPRINT, which is made if it is missing: models do not meet. "": no folder.
  StateFiles(const std::string& folder, const Loaded& lm);

  bool exist() const { return !folder_.empty(); }

  struct Found {
    models::TokenHistory history;
    int64_t position = 0, bytes = 0;
  };
  /// The files that are there, the oldest first. One that is damaged, or is not what its name says, is
  /// passed over in a warning.
  std::vector<Found> found() const;

  /// Bytes on disk.
  int64_t write(const TextState& state) const;
  TextState read(const std::string& id) const;  ///< null, and a warning, if it cannot be read
  void remove(const std::string& id) const;

 private:
  std::string path_of(const std::string& id) const;

  const Loaded lm_;
  std::string folder_;
};

}  // namespace lact::tasks::lm
