#include "lact/train/remote_tensors.h"

#include <ATen/ATen.h>

namespace lact::train {

namespace {

constexpr const char* kGathering = "gathering a checkpoint";
constexpr int64_t kDone = -1;

}  // namespace

void RemoteTensors::add(const std::string& name, const at::Tensor& here, int64_t holder) {
  entries_.push_back({name, here.detach(), holder});
}

std::map<std::string, at::Tensor> RemoteTensors::tensors() const {
  std::map<std::string, at::Tensor> all;
  for (const auto& entry : entries_) all[entry.name] = entry.here;
  return all;
}

io::TensorContents RemoteTensors::contents() const {
  std::map<std::string, int64_t> elsewhere;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].holder != 0) elsewhere[entries_[i].name] = int64_t(i);
  }
  return [this, elsewhere](const std::string& name, const at::Tensor& here) {
    const auto found = elsewhere.find(name);
    if (found == elsewhere.end()) return here;
    ask(found->second);
    return moved(entries_[size_t(found->second)]);
  };
}

void RemoteTensors::ask(int64_t entry) const {
  const at::Tensor number = at::full({1}, entry, at::kLong);
  ranks_.broadcast(number, 0, kGathering);
}

RemoteTensors::Release::~Release() {
  try {
    tensors.ask(kDone);
  } catch (const parallel::RankLost&) {  // whoever waits for this rank finds out by itself
  }
}

void RemoteTensors::answer() const {
  for (;;) {
    const at::Tensor number = at::empty({1}, at::kLong);
    ranks_.broadcast(number, 0, kGathering);
    const auto entry = number.item<int64_t>();
    if (entry == kDone) return;
    moved(entries_.at(size_t(entry)));
  }
}

/// From its holder to rank 0.
at::Tensor RemoteTensors::moved(const Entry& entry) const {
  const auto& here = entry.here;
  const bool holds = ranks_.rank() == entry.holder, gets = ranks_.rank() == 0;
  std::vector<int64_t> to(size_t(ranks_.size()), 0), from = to;
  if (holds) to[0] = here.numel();
  if (gets) from[size_t(entry.holder)] = here.numel();
  const at::Tensor sent = holds ? here.reshape({-1}) : at::empty({0}, here.options());
  const at::Tensor come = ranks_.exchange(sent, to, from, kGathering);
  return gets ? come.view(here.sizes()) : come;
}

}  // namespace lact::train
