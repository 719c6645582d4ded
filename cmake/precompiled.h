// The LibTorch headers that nearly every source needs, compiled once: a source then takes about 4 s instead
// of 11.
#pragma once
#include <ATen/ATen.h>
#include <torch/autograd.h>
#include <torch/nn/init.h>
#include <torch/nn/module.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
