#include "lact/data/text/sentencepiece_library.h"

#include <dlfcn.h>

#include <exception>

#include "lact/base/error.h"

namespace lact::data {

namespace {

constexpr const char* kLibrary = "libsentencepiece_train.so.0";

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kHasAddressSanitizer = true;
#else
constexpr bool kHasAddressSanitizer = false;
#endif

// The classes below have the binary layout of those in sentencepiece_trainer.h, version 0.1.97. The header
// itself would need the library's symbols when the program is linked.

/// sentencepiece::util::Status: a pointer that is null if all went well.
struct Status {
  Status() = default;
  Status(const Status&) = delete;
  // Not trivial, so that it is returned through memory like the original. The message of a failed training is
  // never freed.
  ~Status() {}
  void* report = nullptr;
};

/// sentencepiece::SentenceIterator
class SentenceIterator {
 public:
  virtual ~SentenceIterator() = default;
  virtual bool done() const = 0;
  virtual void Next() = 0;
  virtual const std::string& value() const = 0;
  virtual Status status() const = 0;
};

/// Stops at an exception and keeps it, as the library is not made to be left by one.
class Sentences final : public SentenceIterator {
 public:
  explicit Sentences(const NextSentence& next) : next_(next) { Next(); }
  bool done() const override { return done_; }
  void Next() override {
    try {
      done_ = !next_(sentence_);
    } catch (...) {
      thrown_ = std::current_exception();
      done_ = true;
    }
  }
  const std::string& value() const override { return sentence_; }
  Status status() const override { return {}; }

  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  const NextSentence& next_;
  std::string sentence_;
  bool done_ = false;
  std::exception_ptr thrown_;
};

using Settings = std::unordered_map<std::string, std::string>;

struct Library {
  Status (*train)(const Settings&, SentenceIterator*, std::string*);
  std::string (*message)(const Status*);
  void (*set_seed)(unsigned);
};

template <class Function>
void find(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  LACT_CHECK(function != nullptr, "{} has no {}, expected SentencePiece 0.1.97", kLibrary, symbol);
}

Library open_library() {
  LACT_CHECK(!kHasAddressSanitizer, "a tokenizer cannot be trained in a build with AddressSanitizer");
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  LACT_CHECK(library != nullptr, "{} is needed to train a tokenizer and cannot be loaded: {}", kLibrary,
             dlerror());
  Library functions;
  find(library,
       "_ZN13sentencepiece20SentencePieceTrainer5TrainERKSt13unordered_mapINSt7__cxx1112basic_"
       "stringIcSt11char_"
       "traitsIcESaIcEEES7_St4hashIS7_ESt8equal_toIS7_ESaISt4pairIKS7_S7_EEEPNS_16SentenceIteratorEPS7_",
       functions.train);
  find(library, "_ZNK13sentencepiece4util6Status8ToStringB5cxx11Ev", functions.message);
  find(library, "_ZN13sentencepiece22SetRandomGeneratorSeedEj", functions.set_seed);
  return functions;
}

const Library& sentencepiece() {
  static const Library library = open_library();
  return library;
}

}  // namespace

void load_sentencepiece() { sentencepiece(); }

TrainedModel train_with_sentencepiece(const Settings& settings, const NextSentence& next) {
  const Library& library = sentencepiece();
  library.set_seed(1);  // the same text gives the same model
  Sentences sentences(next);
  sentences.rethrow();
  TrainedModel model;
  const Status status = library.train(settings, &sentences, &model.bytes);
  sentences.rethrow();
  if (status.report != nullptr) model.mistake = library.message(&status);
  return model;
}

}  // namespace lact::data
