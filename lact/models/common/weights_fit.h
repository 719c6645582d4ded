// A config is not trusted: before memory is taken for a model it must be plausible that this machine can hold
// it, and that the files beside the config hold its weights.
#pragma once

#include <string>

#include "lact/models/common/cost.h"

namespace lact::models {

/// Throws unless this machine has a byte for each parameter of a model that is about to be made; some types
/// take no more.
void check_parameters(const ModelCost& cost);

/// Throws unless the files `stem`*.safetensors of the folder have at least a byte for each parameter that its
/// config.json comes to: then a file of another model is found by its tensors, without a multiple of its size
/// being taken. Says nothing about a folder without such files.
void check_weights_fit(const std::string& folder, const ModelCost& cost, const std::string& stem = "model");

}  // namespace lact::models
