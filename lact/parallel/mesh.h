// How the ranks of a job share the work: copies of the model that see other batches (data), shards of the
// tokens of every chunk (context), and shards of the heads (tensor).
#pragma once

#include <cstdint>
#include <string>

namespace lact::parallel {

struct Mesh {
  int64_t data = 1, context = 1, tensor = 1;

  int64_t ranks() const { return data * context * tensor; }
  /// Ranks among which the tokens of one sequence are shared out.
  int64_t shards() const { return context * tensor; }
  bool operator==(const Mesh&) const = default;
};

/// "data=2,context=2,tensor=2"; an axis that is not named has one rank. Throws a sentence for anything else.
Mesh parse_mesh(const std::string& text);
std::string to_string(const Mesh& mesh);

/// Where a rank of the job stands. Neighbours on the tensor axis are neighbours in the job.
struct Place {
  int64_t data = 0, context = 0, tensor = 0;

  /// Of the ranks that share a sequence.
  int64_t shard(const Mesh& mesh) const { return context * mesh.tensor + tensor; }
  bool operator==(const Place&) const = default;
};
Place place_of(int64_t rank, const Mesh& mesh);
int64_t rank_of(const Place& place, const Mesh& mesh);

}  // namespace lact::parallel
