#include "lact/ops/recurrences/checks.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/ops/dispatch/dtypes.h"

namespace lact::ops {

namespace {

void check_like_values(const RecurrenceRules& rules, const RecurrenceInputs& in, const at::Tensor& x,
                       const char* name) {
  const char* op = rules.operation;
  LACT_CHECK(x.dim() == 4, "[{}] {} has shape {}, expected [B, H, T, K]", op, name, x.sizes().vec());
  LACT_CHECK(x.size(0) == in.v.size(0), "[{}] {} has batch {} but v has {}", op, name, x.size(0),
             in.v.size(0));
  LACT_CHECK(x.size(1) == in.v.size(1) || (rules.shared_keys && x.size(1) == 1),
             "[{}] {} has {} heads but v has {}", op, name, x.size(1), in.v.size(1));
  LACT_CHECK(x.size(2) == in.v.size(2), "[{}] {} has {} tokens but v has {}", op, name, x.size(2),
             in.v.size(2));
}

void check_shape(const RecurrenceRules& rules, const at::Tensor& x, const char* name,
                 const std::vector<int64_t>& expected) {
  LACT_CHECK(x.sizes() == at::IntArrayRef(expected), "[{}] {} has shape {}, expected {}", rules.operation,
             name, x.sizes().vec(), expected);
}

void check_types(const RecurrenceRules& rules, const RecurrenceInputs& in) {
  const char* op = rules.operation;
  const at::ScalarType type = in.v.scalar_type();
  LACT_CHECK(at::isFloatingType(type), "[{}] v is of type {}, expected a floating-point type", op,
             at::toString(type));
  LACT_CHECK(in.q.scalar_type() == type && in.k.scalar_type() == type,
             "[{}] q, k and v are of types {}, {} and {}, expected one type", op,
             at::toString(in.q.scalar_type()), at::toString(in.k.scalar_type()), at::toString(type));
  const auto check_wide = [&](const at::Tensor& x, const char* name) {
    LACT_CHECK(x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble,
               "[{}] {} is of type {}, expected float32 or float64", op, name, at::toString(x.scalar_type()));
  };
  check_wide(in.gate, rules.gate);
  check_wide(in.state, "the state");
  for (const auto* x : {&in.q, &in.k, &in.gate, &in.state}) {
    LACT_CHECK(x->device() == in.v.device(), "[{}] tensors are on {} and {}, expected one device", op,
               x->device().str(), in.v.device().str());
  }
}

}  // namespace

void check_recurrence(const RecurrenceRules& rules, const RecurrenceInputs& in) {
  const char* op = rules.operation;
  LACT_CHECK(in.v.dim() == 4, "[{}] v has shape {}, expected [B, H, T, V]", op, in.v.sizes().vec());
  check_like_values(rules, in, in.q, "q");
  check_like_values(rules, in, in.k, "k");
  LACT_CHECK(in.q.size(1) == in.k.size(1), "[{}] q has {} heads but k has {}", op, in.q.size(1),
             in.k.size(1));
  LACT_CHECK(in.q.size(3) == in.k.size(3), "[{}] q is {} wide but k is {}", op, in.q.size(3), in.k.size(3));
  LACT_CHECK(in.k.size(3) > 0 && in.v.size(3) > 0, "[{}] keys are {} wide and values {}, expected 1 or more",
             op, in.k.size(3), in.v.size(3));
  std::vector<int64_t> gate = in.v.sizes().slice(0, 3).vec();
  if (rules.gate_per_channel) gate.push_back(in.k.size(3));
  check_shape(rules, in.gate, rules.gate, gate);
  check_shape(rules, in.state, "the state", {in.v.size(0), in.v.size(1), in.k.size(3), in.v.size(3)});
  check_types(rules, in);
  // Asking another device would wait for it.
  if (rules.gate_is_log_decay && in.gate.is_cpu() && in.gate.numel() > 0) {
    const double largest = in.gate.detach().max().item<double>();
    LACT_CHECK(!(largest > 0), "[{}] {} reaches {}, expected at most 0", op, rules.gate, largest);
  }
}

}  // namespace lact::ops
