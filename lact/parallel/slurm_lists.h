// The short forms in which Slurm lists nodes and tasks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lact::parallel {

/// The first host of a list like "gpu[03-07,11],login1": "gpu03". Throws one sentence if it is none.
std::string first_host(std::string_view nodes);

/// Entry `node`, counted from 0, of a list like "4(x2),3", which stands for 4, 4, 3. Nothing if the list is
/// too short or is no such list.
std::optional<int64_t> tasks_on_node(std::string_view tasks, int64_t node);

}  // namespace lact::parallel
