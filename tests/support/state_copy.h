// A state written down field by field and read into a fresh one, as files do it.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "lact/mixers/state.h"

namespace lact::testing {

using StateFields = std::map<std::string, at::Tensor>;

inline StateFields fields_of(State& state) {
  struct Collector : StateVisitor {
    StateFields fields;
    void tensor(const std::string& name, at::Tensor& value, int64_t) override {
      fields[name] = value.detach().clone();
    }
    void number(const std::string& name, int64_t& value) override {
      fields[name] = at::full({1}, value, at::kLong);
    }
  } collector;
  state.visit(collector, "");
  return std::move(collector.fields);
}

/// Fields of a fixed shape must fit what `state` has already.
inline void fill_state(State& state, const StateFields& fields) {
  struct Filler : StateVisitor {
    const StateFields& fields;
    explicit Filler(const StateFields& source) : fields(source) {}
    void tensor(const std::string& name, at::Tensor& value, int64_t token_dim) override {
      EXPECT_TRUE(token_dim >= 0 || value.sizes() == fields.at(name).sizes()) << name;
      value = fields.at(name).to(value.scalar_type());
    }
    void number(const std::string& name, int64_t& value) override { value = fields.at(name).item<int64_t>(); }
  } filler(fields);
  state.visit(filler, "");
}

}  // namespace lact::testing
