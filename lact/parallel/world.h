// All ranks of a job and the groups in which they work together.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "lact/parallel/group.h"
#include "lact/parallel/mesh.h"

namespace lact::parallel {

/// Where the ranks meet. Rank 0 listens at the address.
struct Meeting {
  int64_t rank = 0, world = 1;
  std::string address = "127.0.0.1";
  int64_t port = 0;
  std::chrono::milliseconds timeout = std::chrono::minutes(10);  ///< of each operation
};

/// The groups of a rank. Alone, all of them are groups of one.
struct World {
  Mesh mesh;
  Group all;       ///< every rank
  Group sequence;  ///< ranks that share the tokens of a sequence: the context and tensor axes
  Group context, tensor;

  bool alone() const { return all.alone(); }
  Place place() const { return place_of(all.rank(), mesh); }
};

/// Whether this build can join ranks: LibTorch has Gloo and its headers were there.
bool can_join();

/// Meets the other ranks; returns when all are there. Throws a sentence if the mesh has another number of
/// ranks, and RankLost if the others do not come.
World join(const Meeting& meeting, const Mesh& mesh);

/// Ranks as threads of this process, for tests: calls `body` once per rank and returns when all are done; the
/// first error is thrown again.
void run_as_threads(const Mesh& mesh, const std::function<void(const World&)>& body,
                    std::chrono::milliseconds timeout = std::chrono::seconds(60));

/// Calls `body` on the first rank, while the others wait; its error is that of all.
void on_first(const Group& group, const std::function<void()>& body);

/// Throws a sentence that names `what` and a rank unless the text is the same on all ranks.
void check_same(const Group& group, const std::string& text, const std::string& what);

}  // namespace lact::parallel
