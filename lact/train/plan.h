// What a run would take: a few lines that every task has, around those of its own.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace lact::train {

struct Plan {
  struct Line {
    std::string name, text;
  };
  double parameters = 0;
  std::string shape;        ///< of the model, such as "4 blocks of width 256"
  std::vector<Line> lines;  ///< the task's own: stages, memory
  double work = 0;          ///< operations of the whole run, forward and backward

  /// What a step works on, where it is the same in every step.
  std::string unit = "";      ///< such as "token"
  double units = 0;           ///< of the whole run
  double measured_speed = 0;  ///< units per second; 0: it is assumed

  void add(std::string name, std::string text) { lines.push_back({std::move(name), std::move(text)}); }
};

/// Operations per second that are assumed where nothing was measured.
double assumed_speed();

std::string plan_text(const Plan& plan);

}  // namespace lact::train
