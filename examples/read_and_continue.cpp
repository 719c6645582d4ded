// Reads a text into a model's fast weights, piece by piece, and lets the model go on writing:
//
//   read_and_continue MODEL_FOLDER text.txt
#include <iostream>

#include "lact/base/error.h"
#include "lact/base/threads.h"
#include "lact/data/text/encode.h"
#include "lact/models/lm/generate.h"
#include "lact/tasks/lm/load.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: read_and_continue MODEL_FOLDER text.txt\n";
    return 2;
  }
  try {
    lact::use_threads(0);
    const auto lm = lact::tasks::lm::load(argv[1]);
    lact::models::LmStream stream(lm.model);
    lact::data::encode_file(*lm.tokenizer, argv[2], [&](const std::vector<int32_t>& tokens) {
      const std::vector<int64_t> ids(tokens.begin(), tokens.end());
      stream.read(ids);
    });
    std::cerr << stream.position() << " tokens are now " << lact::models::state_bytes(stream.state())
              << " bytes of memory\n";

    const lact::models::Vocabulary vocabulary = {lm.tokenizer->end_of_text(), [&](int64_t token) {
                                                   return lm.tokenizer->token_bytes(int32_t(token));
                                                 }};
    lact::models::generate(stream, {}, {.max_tokens = 100}, vocabulary,
                           [](const std::string& bytes) { std::cout << bytes << std::flush; });
    std::cout << "\n";
  } catch (const lact::Error& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
