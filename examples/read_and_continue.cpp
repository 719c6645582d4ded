// Reads a text into a model's fast weights, piece by piece, and lets the model go on writing:
//
//   read_and_continue MODEL_FOLDER text.txt
#include <lact/lact.h>

#include <iostream>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: read_and_continue MODEL_FOLDER text.txt\n";
    return 2;
  }
  try {
    lact::use_threads(0);
    lact::tasks::lm::Session session(lact::tasks::lm::load(argv[1]));
    session.read_file(argv[2]);
    std::cerr << session.position() << " tokens are now " << session.memory_bytes() << " bytes of memory\n";

    lact::models::GenerateOptions options;
    options.max_tokens = 100;
    session.write("", options, [](const std::string& bytes) { std::cout << bytes << std::flush; });
    std::cout << "\n";
  } catch (const lact::Error& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
