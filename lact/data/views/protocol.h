// The tests of the paper's appendix, so that numbers can be set beside its tables.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "lact/data/views/test_views.h"

namespace lact::data {

enum class TestProtocol {
  /// Objects (Google Scanned Objects): 8 views are guessed, 4 to 48 others are read, all of them random.
  gso,
  /// Captures of places (DL3DV): every eighth photo is guessed; 16 to 128 of the others are read, spread by
  /// k-means over where the cameras stand and look.
  dl3dv,
};

constexpr std::array<std::pair<TestProtocol, std::string_view>, 2> enum_names(TestProtocol) {
  return {{{TestProtocol::gso, "gso"}, {TestProtocol::dl3dv, "dl3dv"}}};
}

/// Its numbers of views, its choice of them, and one group of its name for all scenes.
TestOptions protocol_options(TestProtocol protocol);

}  // namespace lact::data
