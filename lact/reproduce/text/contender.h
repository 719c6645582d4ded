// The models that the text experiments compare: all are trained on the same generated text, in which names
// and things are bound anew in each document, and differ in the words that `change` adds.
#pragma once

#include <string>
#include <vector>

#include "lact/reproduce/plan.h"
#include "lact/reproduce/step.h"

namespace lact::reproduce::text {

struct Contender {
  std::string id;       ///< part of the ids of its steps
  std::string name;     ///< in legends and tables
  Words change;         ///< --set NAME=VALUE ...
  double slowness = 1;  ///< of its training, compared with LaCT with Muon
};

// What remembers: nothing, everything, a linear recurrence of every token, fast weights.
Contender window_only();
Contender full_attention();
Contender gla();
Contender deltanet();
/// With one head, d² numbers each: more than the paper gives them, to see what the size of the state does.
Contender wide_gla();
Contender wide_deltanet();
// LaCT with two heads, by the optimizer of the fast weights.
Contender lact_gd();
Contender lact_momentum();
Contender lact_muon();
/// LaCT with Muon and other heads, whose widths add up to the model's: the more, the smaller the state. Two
/// are lact_muon.
Contender lact_heads(int num_heads);
/// f(x) = W x instead of SwiGLU.
Contender linear_muon();  ///< one head: d² numbers
Contender linear_gd();    ///< four heads: as many numbers as GLA has
/// LaCT with Muon and other words of its update rule.
Contender lact_variant(const std::string& id, const std::string& name, const Words& update_fields,
                       double slowness = 1);

/// How long, on what and with which rates the models of a budget are trained.
struct Setting {
  explicit Setting(const Plan& plan);

  int64_t steps, sweep_steps, seeds;
  int64_t batch, length;            ///< sequences and tokens of a training step
  int64_t window;                   ///< and chunk
  int64_t valid_length, documents;  ///< of the text that is measured on
  std::vector<std::string> rates;   ///< the grid that every contender is tuned over; one: not tuned

  Words text() const;   ///< the generated text
  Words model() const;  ///< what all contenders have in common
};

/// How large the states are, for notes.
inline constexpr const char* kStates =
    "States are to each other as in the paper's models of 760M parameters: LaCT 1.5 d², GLA d²/4, DeltaNet "
    "d²/8 "
    "(there d²/12). The recurrences with one head have d². The base rate of LaCT's memories is the same for "
    "all and "
    "was found with momentum.";

}  // namespace lact::reproduce::text
