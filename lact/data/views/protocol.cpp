#include "lact/data/views/protocol.h"

#include "lact/base/options.h"

namespace lact::data {

TestOptions protocol_options(TestProtocol protocol) {
  TestOptions test;
  test.group = std::string(options::word_of(protocol));
  if (protocol == TestProtocol::gso) {
    test.counts = {4, 8, 12, 20, 32, 48};
    test.targets = 8;
    test.target_every = 0;
    test.inputs = ViewChoice::random;
  } else {
    test.counts = {16, 32, 64, 128};
    test.targets = kMostTestViews;  // every eighth, however many they are
    test.target_every = 8;
    test.inputs = ViewChoice::kmeans;
  }
  return test;
}

}  // namespace lact::data
