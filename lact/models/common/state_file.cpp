#include "lact/models/common/state_file.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/io/finite.h"

namespace lact::models {

namespace {

struct StateCollector : StateVisitor {
  std::map<std::string, at::Tensor> tensors;
  void tensor(const std::string& name, at::Tensor& value, int64_t) override {
    tensors[name] = value.detach().contiguous();
  }
  void number(const std::string& name, int64_t& value) override {
    tensors[name] = at::full({1}, value, at::kLong);
  }
};

constexpr int64_t kLargestCount = int64_t(1) << 48;  // of tokens, chunks: sums of a few stay far from 2^63

struct StateFiller : StateVisitor {
  StateReader& reader;
  const std::string& path;
  StateFiller(StateReader& source, const std::string& file) : reader(source), path(file) {}

  void tensor(const std::string& name, at::Tensor& value, int64_t token_dim) override {
    std::vector<int64_t> expected = value.sizes().vec();
    const at::Tensor& read = reader.find(name);
    if (token_dim >= 0 && read.dim() == value.dim()) expected[size_t(token_dim)] = read.size(token_dim);
    value = reader.take(name, expected).to(value.options());
  }
  /// Whatever format the file has them in, the state keeps its own.
  void tokens(const std::string& name, ops::KeptTokens& value) override {
    const bool bytes = value.scales.defined();
    const at::Tensor& read = reader.find(name);
    if (read.scalar_type() != at::kChar) {
      at::Tensor wide =
          at::empty(value.numbers.sizes(),
                    value.numbers.options().dtype(bytes ? at::kFloat : value.numbers.scalar_type()));
      tensor(name, wide, 1);
      value = bytes ? ops::keep(wide, ops::CacheFormat::int8) : ops::KeptTokens{wide, {}};
      return;
    }
    std::vector<int64_t> expected = value.numbers.sizes().vec();
    if (read.dim() == value.numbers.dim()) expected[1] = read.size(1);
    LACT_CHECK(read.sizes() == expected, "{}: tensor {} has shape {}, expected {}", path, name,
               read.sizes().vec(), expected);
    const ops::KeptTokens kept = {read,
                                  reader.take(name + "_scales", {expected.begin(), expected.end() - 1})};
    value = bytes ? kept : ops::KeptTokens{ops::widened(kept, at::kFloat).to(value.numbers.options()), {}};
  }
  void number(const std::string& name, int64_t& value) override {
    const at::Tensor& read = reader.find(name);
    const bool is_count = read.scalar_type() == at::kLong && read.numel() == 1 && read.item<int64_t>() >= 0 &&
                          read.item<int64_t>() <= kLargestCount;
    LACT_CHECK(is_count, "{}: {} is not a count", path, name);
    value = read.item<int64_t>();
  }
};

std::string metadata_value(const std::map<std::string, std::string>& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? "" : found->second;
}

}  // namespace

std::map<std::string, at::Tensor> tensors_of(State& state) {
  StateCollector collector;
  state.visit(collector, "");
  return std::move(collector.tensors);
}

void check_state_file(const std::string& path, const std::map<std::string, std::string>& metadata,
                      const StateFileKind& expected) {
  LACT_CHECK(metadata_value(metadata, "kind") == expected.kind, "{}: is not {}", path, expected.words);
  const std::string format = metadata_value(metadata, "format"), model = metadata_value(metadata, "model");
  LACT_CHECK(format == "1", "{}: has format {}, expected 1", path, format);
  LACT_CHECK(model == expected.model_hash,
             "{}: was made by another model ({}), expected one by this model ({})", path, model,
             expected.model_hash);
}

void StateReader::fill(State& state) {
  StateFiller filler(*this, path_);
  state.visit(filler, "");
}

const at::Tensor& StateReader::find(const std::string& name) {
  const auto found = tensors_.find(name);
  LACT_CHECK(found != tensors_.end(), "{}: tensor {} is missing", path_, name);
  taken_.insert(name);
  return found->second;
}

at::Tensor StateReader::take(const std::string& name, const std::vector<int64_t>& shape) {
  const at::Tensor& read = find(name);
  LACT_CHECK(read.sizes() == shape, "{}: tensor {} has shape {}, expected {}", path_, name,
             read.sizes().vec(), shape);
  LACT_CHECK(read.is_floating_point() && io::all_finite(read), "{}: tensor {} is not made of finite numbers",
             path_, name);
  return read;
}

void StateReader::expect_nothing_more(const std::string& whole) const {
  for (const auto& [name, tensor] : tensors_)
    LACT_CHECK(taken_.count(name) > 0, "{}: tensor {} is not part of {}", path_, name, whole);
}

}  // namespace lact::models
