// Every update rule of the fast weights, by name.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lact/ttt/update_rule.h"

namespace lact::cases {

/// Every update rule: {none, momentum} x {plain, Muon} x {post, pre, none}, and the paper's form of the norm.
inline std::vector<std::pair<std::string, ttt::UpdateRule>> rules() {
  using ttt::NormPlacement, ttt::NormTarget, ttt::UpdateRule;
  std::vector<std::pair<std::string, UpdateRule>> all;
  for (const bool momentum : {false, true}) {
    for (const bool muon : {false, true}) {
      for (const auto placement : {NormPlacement::post, NormPlacement::pre, NormPlacement::none}) {
        UpdateRule rule;
        rule.momentum = momentum;
        rule.muon = muon;
        rule.norm_placement = placement;
        const char* words[] = {"post", "pre", "none"};
        all.emplace_back(
            std::string(momentum ? "momentum " : "") + (muon ? "muon " : "gd ") + words[int(placement)],
            rule);
      }
    }
  }
  UpdateRule paper;
  paper.muon = true;
  paper.norm_target = NormTarget::previous;
  paper.norm_epsilon = 0;
  all.emplace_back("muon, paper's norm", paper);
  return all;
}

}  // namespace lact::cases
