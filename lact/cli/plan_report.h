// What `lact plan` prints: tables for people, JSON for programs.
#pragma once

#include <string>

#include "lact/base/options.h"
#include "lact/models/plan/prediction.h"

namespace lact::cli {

std::string plan_report(const std::string& name, const models::plan::Workload& workload,
                        const models::plan::Machine& machine, const models::plan::Prediction& prediction);
options::Json plan_json(const std::string& name, const models::plan::Workload& workload,
                        const models::plan::Machine& machine, const models::plan::Prediction& prediction);

/// One line for each, the best first.
std::string suggestions_report(const models::plan::Workload& workload, const models::plan::Machine& machine,
                               const std::vector<models::plan::Prediction>& all);
options::Json suggestions_json(const std::vector<models::plan::Prediction>& all);

}  // namespace lact::cli
