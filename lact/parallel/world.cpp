#include "lact/parallel/world.h"

#include <ATen/ATen.h>

#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include "lact/base/version.h"
#include "lact/parallel/c10d_transport.h"
#include "lact/parallel/own_address.h"

#ifdef LACT_HAS_GLOO
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#endif

namespace lact::parallel {

#ifdef LACT_HAS_GLOO

namespace {

World connect_all(const Rendezvous& rendezvous, const Mesh& mesh) {
  const Place here = place_of(rendezvous.rank, mesh);
  const auto group = [&](const std::string& name, const auto& belongs) {
    std::vector<int64_t> members;
    for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
      if (belongs(place_of(rank, mesh))) members.push_back(rank);
    }
    return members.size() == 1
               ? Group()
               : Group(connect(rendezvous, fmt::format("{}/{}", name, members.front()), members));
  };
  World world;
  world.mesh = mesh;
  world.all = group("all", [](const Place&) { return true; });
  // Before groups are made that only some of the meshes have.
  check_same(world.all, version(), "the version");
  check_same(world.all, to_string(mesh), "the mesh");
  world.sequence = group("sequence", [&](const Place& other) { return other.data == here.data; });
  world.context = group(
      "context", [&](const Place& other) { return other.data == here.data && other.tensor == here.tensor; });
  world.tensor = group(
      "tensor", [&](const Place& other) { return other.data == here.data && other.context == here.context; });
  world.all.barrier("meeting");
  return world;
}

}  // namespace

bool can_join() { return true; }

World join(const Meeting& meeting, const Mesh& mesh) {
  LACT_CHECK(mesh.ranks() == meeting.world, "[mesh] {} is a mesh of {} ranks but the job has {}",
             to_string(mesh), mesh.ranks(), meeting.world);
  if (meeting.world == 1) return {};
  c10d::TCPStoreOptions options;
  options.port = uint16_t(meeting.port);
  options.isServer = meeting.rank == 0;
  options.numWorkers = std::size_t(meeting.world);
  options.timeout = meeting.timeout;
#if TORCH_VERSION_MAJOR >= 2 && TORCH_VERSION_MINOR >= 4
  options.useLibUV = false;  // not every build has it
#endif
  Rendezvous rendezvous = {{}, meeting.rank, own_address_towards(meeting.address), meeting.timeout};
  try {
    rendezvous.store = c10::make_intrusive<c10d::TCPStore>(meeting.address, options);
  } catch (const std::exception& error) {
    throw RankLost(fmt::format("[parallel] the {} ranks did not meet at {}:{} within {} s", meeting.world,
                               meeting.address, meeting.port, meeting.timeout.count() / 1000));
  }
  return connect_all(rendezvous, mesh);
}

void run_as_threads(const Mesh& mesh, const std::function<void(const World&)>& body,
                    std::chrono::milliseconds timeout) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::exception_ptr first;
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(mesh.ranks() == 1 ? World() : connect_all({store, rank, "127.0.0.1", timeout}, mesh));
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

#else

bool can_join() { return false; }

World join(const Meeting& meeting, const Mesh& mesh) {
  LACT_CHECK(mesh.ranks() == 1 && meeting.world == 1,
             "[parallel] this build joins no ranks: LibTorch's Gloo headers (Debian's libgloo-dev) were "
             "missing when it was made");
  return {};
}

void run_as_threads(const Mesh& mesh, const std::function<void(const World&)>& body,
                    std::chrono::milliseconds) {
  join({}, mesh);
  body({});
}

#endif

namespace {

/// The first rank's text on all.
std::string told(const Group& group, const std::string& text) {
  const at::Tensor length = at::tensor(int64_t(text.size()));
  group.broadcast(length, 0, "waiting for rank 0");
  std::string result = text;
  result.resize(size_t(length.item<int64_t>()));
  const at::Tensor bytes = at::empty({int64_t(result.size())}, at::kByte);
  std::memcpy(bytes.data_ptr(), result.data(), result.size());
  group.broadcast(bytes, 0, "waiting for rank 0");
  std::memcpy(result.data(), bytes.data_ptr(), result.size());
  return result;
}

}  // namespace

void on_first(const Group& group, const std::function<void()>& body) {
  if (group.alone()) return body();
  std::string mistake;
  if (group.rank() == 0) {
    try {
      body();
    } catch (const Error& error) {
      mistake = error.what();
    }
  }
  mistake = told(group, mistake);
  if (!mistake.empty()) throw Error(mistake);
}

void check_same(const Group& group, const std::string& text, const std::string& what) {
  if (group.alone()) return;
  const at::Tensor length = group.gather(at::tensor(int64_t(text.size())), "comparing ranks");
  std::string mine = text;
  mine.resize(size_t(length.max().item<int64_t>()));
  const at::Tensor bytes = at::empty({int64_t(mine.size())}, at::kByte);
  std::memcpy(bytes.data_ptr(), mine.data(), mine.size());
  const at::Tensor all = group.gather(bytes, "comparing ranks");
  for (int64_t rank = 1; rank < group.size(); ++rank) {
    LACT_CHECK(length[rank].item<int64_t>() == length[0].item<int64_t>() && at::equal(all[rank], all[0]),
               "[parallel] {} of rank {} is not that of rank 0: all ranks need the same", what, rank);
  }
}

}  // namespace lact::parallel
