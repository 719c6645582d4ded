#include <iostream>
#include <sstream>

#include "lact/base/log.h"
#include "lact/cli/fields.h"
#include "lact/cli/lm/lm.h"
#include "lact/cli/outputs.h"
#include "lact/cli/verbs.h"
#include "lact/data/text/train_tokenizer.h"

namespace lact::cli {

void add_lm_tokenizer(CLI::App& task) {
  auto* group = task.add_subcommand("tokenizer", "SentencePiece tokenizers");
  group->require_subcommand(0, 1);
  show_help_when_alone(*group);
  const auto options = std::make_shared<data::TrainTokenizerOptions>();
  auto* train = group->add_subcommand("train", "Train a SentencePiece tokenizer from text");
  train->footer("Example: lact lm tokenizer train books/ -o books.model --vocabulary-size 4096");
  train->add_option("TEXT", options->files, "Text or JSON-lines files or folders, also packed")->required();
  train->add_option("-o,--output", options->output, "Model file to write")->check(output_file())->required();
  add_fields(*train, options->format, "Options", {"end_of_text"});
  add_fields(*train, options->pieces, "Options");
  train->callback([options] {
    data::train_sentencepiece(*options);
    log::info("wrote {}", options->output);
  });

  struct Encode {
    std::string tokenizer, text;
  };
  const auto encode_words = std::make_shared<Encode>();
  auto* encode = group->add_subcommand("encode", "Print the tokens of a text");
  encode->footer("Example: lact lm tokenizer encode books.model \"Call me Ishmael.\"");
  encode->add_option("TOKENIZER", encode_words->tokenizer, "bytes or a SentencePiece model")->required();
  encode->add_option("TEXT", encode_words->text, "The text itself")->required();
  encode->callback([encode_words] {
    const auto tokenizer = data::read_tokenizer(encode_words->tokenizer);
    nlohmann::json rows = nlohmann::json::array();
    for (const int32_t token : tokenizer->encode(encode_words->text)) {
      rows.push_back({token, tokenizer->token_bytes(token)});
    }
    std::cout << rows.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  });
}

}  // namespace lact::cli
