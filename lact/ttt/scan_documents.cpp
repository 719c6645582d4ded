#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/ttt/scan_forms.h"

namespace lact::ttt::documents {

namespace {

/// The stretches of a row that documents cover, cut out at once: one gradient for the row comes back.
std::vector<at::Tensor> cut(const at::Tensor& tokens, const std::vector<int64_t>& lengths) {
  if (!tokens.defined()) return std::vector<at::Tensor>(lengths.size());
  return at::split_with_sizes(tokens, lengths, 2);
}

struct Document {
  Schedule schedule;
  int64_t begin;
};

std::vector<Document> documents_of(const Schedule& schedule, int64_t begin) {
  std::vector<Document> all = {{{}, begin}};
  for (const auto& step : schedule) {
    if (step.operation == Operation::restart) {
      LACT_CHECK(step.tokens.begin >= all.back().begin,
                 "[ttt] a document begins at token {}, before the one before it at {}", step.tokens.begin,
                 all.back().begin);
      all.push_back({{}, step.tokens.begin});
    } else {
      all.back().schedule.push_back(step);
    }
  }
  return all;
}

}  // namespace

at::Tensor scan(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs,
                Memory& memory) {
  LACT_CHECK(
      inputs.first_query == inputs.first_key,
      "[ttt] the schedule restarts, so queries and keys must begin together, but queries begin at {} and "
      "keys at {}",
      inputs.first_query, inputs.first_key);
  const auto all = documents_of(schedule, inputs.first_query);
  const int64_t end = inputs.first_query + inputs.q.size(2);
  std::vector<int64_t> lengths;
  for (size_t i = 0; i < all.size(); ++i) {
    lengths.push_back((i + 1 < all.size() ? all[i + 1].begin : end) - all[i].begin);
  }
  const auto q = cut(inputs.q, lengths), k = cut(inputs.k, lengths), v = cut(inputs.v, lengths),
             beta = cut(inputs.beta, lengths);
  std::vector<std::vector<at::Tensor>> rates;
  for (const auto& rate : inputs.rates) rates.push_back(cut(rate, lengths));

  std::vector<at::Tensor> outputs;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i > 0) memory = start_memory(rule, inputs.initial_weights);
    ScanInputs own = {q[i], k[i], v[i], {}, beta[i], all[i].begin, all[i].begin};
    for (const auto& rate : rates) own.rates.push_back(rate[i]);
    own.context = inputs.context;
    own.one_of_many = inputs.one_of_many;
    outputs.push_back(ttt::scan(rule, all[i].schedule, own, memory));
  }
  return at::cat(outputs, 2);
}

}  // namespace lact::ttt::documents
