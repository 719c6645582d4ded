#include "lact/parallel/mesh.h"

#include <charconv>
#include <map>

#include "lact/base/error.h"

namespace lact::parallel {

namespace {

constexpr int64_t kMostRanks = 1 << 20;

int64_t axis_size(const std::string& text, const std::string& number) {
  int64_t size = 0;
  const char* end = number.data() + number.size();
  const auto [rest, error] = std::from_chars(number.data(), end, size);
  LACT_CHECK(error == std::errc() && rest == end && size >= 1 && size <= kMostRanks,
             "[mesh] \"{}\" has \"{}\" ranks on an axis, expected a number from 1 to {}", text, number,
             kMostRanks);
  return size;
}

}  // namespace

Mesh parse_mesh(const std::string& text) {
  Mesh mesh;
  std::map<std::string, int64_t*> axes = {
      {"data", &mesh.data}, {"context", &mesh.context}, {"tensor", &mesh.tensor}};
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const size_t equals = part.find('=');
    LACT_CHECK(equals != std::string::npos,
               "[mesh] \"{}\" has \"{}\", expected axes like data=2,context=2,tensor=2", text, part);
    const auto axis = axes.find(part.substr(0, equals));
    LACT_CHECK(axis != axes.end(),
               "[mesh] \"{}\" names the axis \"{}\", expected data, context or tensor, "
               "each at most once",
               text, part.substr(0, equals));
    *axis->second = axis_size(text, part.substr(equals + 1));
    axes.erase(axis);
    begin = end + 1;
  }
  LACT_CHECK(mesh.data <= kMostRanks / mesh.context / mesh.tensor, "[mesh] \"{}\" has more than {} ranks",
             text, kMostRanks);
  return mesh;
}

std::string to_string(const Mesh& mesh) {
  return fmt::format("data={},context={},tensor={}", mesh.data, mesh.context, mesh.tensor);
}

Place place_of(int64_t rank, const Mesh& mesh) {
  return {rank / mesh.shards(), rank / mesh.tensor % mesh.context, rank % mesh.tensor};
}

int64_t rank_of(const Place& place, const Mesh& mesh) {
  return place.data * mesh.shards() + place.shard(mesh);
}

}  // namespace lact::parallel
