// The steps that every contender takes: its rate is chosen by short trainings, then it is trained with
// several seeds and measured on documents that nobody trained on. What they found is read here, too.
#pragma once

#include <string>
#include <vector>

#include "lact/reproduce/results.h"
#include "lact/reproduce/section.h"
#include "lact/reproduce/text/contender.h"
#include "lact/reproduce/verdict.h"

namespace lact::reproduce::text {

class Trainings {
 public:
  Trainings(const Plan& plan, std::vector<Contender> contenders)
      : setting_(plan), all_(std::move(contenders)) {}

  /// Of all contenders; the text and its tokenizer come first. `with_recall`: retrieval is measured as well.
  std::vector<Step> steps(bool with_recall) const;

  const std::vector<Contender>& contenders() const { return all_; }
  const Setting& setting() const { return setting_; }

  // One number per seed.
  Sample last_quarter(const Results& results, const Contender& one) const;   ///< loss of its positions
  Sample first_quarter(const Results& results, const Contender& one) const;  ///< loss
  /// Share of right answers to what was mentioned last at least so many tokens ago.
  Sample recall(const Results& results, const Contender& one, int64_t from) const;

  Chart loss_chart(const Results& results) const;
  Chart recall_chart(const Results& results) const;
  /// Loss of the last quarter, retrieval beyond the window if it was measured, parameters, state.
  Table summary(const Results& results, bool with_recall) const;
  /// What the short trainings said; empty rows where there was nothing to choose.
  Table rate_table(const Results& results) const;
  /// Text, tokens and parameters, as the commands report them.
  std::vector<std::string> notes(const Results& results) const;

  /// What most sections show: the chart of losses, the summary, the rates and the notes.
  void show_losses(const Results& results, Section& section) const;

  /// Numbers that the model has and that its memory holds in all its blocks.
  int64_t parameters(const Results& results, const Contender& one) const;
  int64_t state(const Results& results, const Contender& one) const;

 private:
  Words train_words(const Contender& one, const std::string& rate, int64_t seed, int64_t steps) const;
  std::string best_rate(const Results& results, const Contender& one) const;
  void add_trainings(const Contender& one, std::vector<Step>& steps) const;
  void add_measurements(const Contender& one, bool with_recall, std::vector<Step>& steps) const;

  std::string sweep_id(const Contender& one, const std::string& rate) const;
  std::string train_id(const Contender& one, int64_t seed) const;
  std::string id(const Contender& one, const std::string& what) const {
    return "text_" + one.id + "_" + what;
  }

  Setting setting_;
  std::vector<Contender> all_;
};

}  // namespace lact::reproduce::text
