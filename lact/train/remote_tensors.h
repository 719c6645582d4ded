// Tensors of which other ranks hold some, for a file that rank 0 writes: it asks for one after the other, so
// that it never has all of them.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "lact/io/safetensors.h"
#include "lact/parallel/group.h"

namespace lact::train {

class RemoteTensors {
 public:
  explicit RemoteTensors(parallel::Group ranks) : ranks_(std::move(ranks)) {}

  /// The same names, shapes and holders in one order on all ranks. `here` is the tensor on the rank that
  /// holds it, anything of its shape and type on the others.
  void add(const std::string& name, const at::Tensor& here, int64_t holder);
  /// A tensor that rank 0 has.
  void add(const std::string& name, const at::Tensor& here) { add(name, here, 0); }

  /// On rank 0 calls write(tensors, contents), which fetches what others hold; these answer until it returns,
  /// however it ends.
  template <class Write>
  void write_on_first(const Write& write) {
    if (ranks_.rank() != 0) return answer();
    const Release release{*this};
    write(tensors(), contents());
  }

 private:
  struct Entry {
    std::string name;
    at::Tensor here;
    int64_t holder;
  };
  struct Release {
    const RemoteTensors& tensors;
    ~Release();
  };
  std::map<std::string, at::Tensor> tensors() const;
  io::TensorContents contents() const;
  void answer() const;
  void ask(int64_t entry) const;
  at::Tensor moved(const Entry& entry) const;

  parallel::Group ranks_;
  std::vector<Entry> entries_;
};

}  // namespace lact::train
