// What a model remembers, to and from named tensors: the part that memory files and scene files share.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "lact/mixers/state.h"

namespace lact::models {

/// Every field of the state; numbers as int64 tensors of one element.
std::map<std::string, at::Tensor> tensors_of(State& state);

struct StateFileKind {
  std::string kind;   ///< what the metadata has to say
  std::string words;  ///< the same in a sentence: "a memory of a language model"
  std::string model_hash;
};

/// Throws unless the metadata names this kind, format 1 and this model.
void check_state_file(const std::string& path, const std::map<std::string, std::string>& metadata,
                      const StateFileKind& expected);

/// Takes the tensors of a file one by one and checks each; `path` is for errors.
class StateReader {
 public:
  StateReader(std::string path, std::map<std::string, at::Tensor> tensors)
      : path_(std::move(path)), tensors_(std::move(tensors)) {}

  /// Fills a fresh state, whose shapes say what to expect.
  void fill(State& state);

  /// A tensor of finite numbers of this shape.
  at::Tensor take(const std::string& name, const std::vector<int64_t>& shape);

  /// A tensor of any kind, unchecked.
  const at::Tensor& find(const std::string& name);

  /// Throws if a tensor was not taken.
  void expect_nothing_more(const std::string& whole) const;

 private:
  std::string path_;
  std::map<std::string, at::Tensor> tensors_;
  std::set<std::string> taken_;
};

}  // namespace lact::models
