// What `lact info` prints about a model: a table for people, JSON for programs.
#pragma once

#include <string>

#include "lact/base/options.h"
#include "lact/models/common/cost.h"
#include "lact/models/presets.h"

namespace lact::cli {

/// Three digits: 312345678 is "312 M". Thousands of millions are B of things and G of operations.
std::string human(double value, const char* billion = " B");

/// "language model, 24 blocks of width 1536"
std::string shape_text(const models::ModelConfig& config, const models::ModelCost& cost);

std::string info_text(const std::string& name, const models::ModelConfig& config,
                      const models::ModelCost& cost);
options::Json info_json(const std::string& name, const models::ModelConfig& config,
                        const models::ModelCost& cost);

}  // namespace lact::cli
