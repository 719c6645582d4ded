#include "lact/io/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <unordered_map>

#include "lact/base/error.h"
#include "lact/io/safetensors_header.h"

namespace lact::io {

namespace {

using Kind = PickleValue::Kind;

const std::map<std::string, at::ScalarType>& storage_types() {
  static const std::map<std::string, at::ScalarType> rows = {
      {"torch.DoubleStorage", at::kDouble}, {"torch.FloatStorage", at::kFloat},
      {"torch.HalfStorage", at::kHalf},     {"torch.BFloat16Storage", at::kBFloat16},
      {"torch.LongStorage", at::kLong},     {"torch.IntStorage", at::kInt},
      {"torch.ShortStorage", at::kShort},   {"torch.CharStorage", at::kChar},
      {"torch.ByteStorage", at::kByte},     {"torch.BoolStorage", at::kBool},
  };
  return rows;
}

// (storage, offset, shape, strides); the newer one has a gradient flag and hooks behind them.
constexpr const char *kTensor = "torch._utils._rebuild_tensor_v2",
                     *kOldTensor = "torch._utils._rebuild_tensor";
// (tensor), or (tensor, gradient flag)
constexpr const char* kOldParameter = "torch.nn.parameter.Parameter";

bool is_known_name(const std::string& name) {
  return name == "collections.OrderedDict" || name == kTensor || name == kOldTensor ||
         name == "torch._utils._rebuild_parameter" || name == kOldParameter || name == "torch.Size" ||
         storage_types().count(name) > 0;
}

// Every instruction makes a bounded number of values, and no list but one kind (push_dict_of_pairs) is ever
// copied: this is the budget of the whole machine. A state dict takes about 60 for a tensor.
constexpr size_t kMostInstructions = size_t(1) << 22;
constexpr size_t kMostDims = 16, kLongestKey = 256;

/// The stack machine of the format.
class PickleMachine {
 public:
  PickleMachine(const std::string& path, std::string_view bytes, std::deque<PickleValue>& values)
      : path_(path), bytes_(bytes), values_(values) {}

  const PickleValue* run() {
    size_t instructions = 0;
    while (!step(take<uint8_t>())) {
      LACT_CHECK(++instructions < kMostInstructions,
                 "{}: its pickle has more than {} instructions, which is too many for a state dict", path_,
                 kMostInstructions);
    }
    return pop();
  }
  size_t position() const { return at_; }

 private:
  template <class Number>
  Number take() {
    Number value;
    std::memcpy(&value, take_bytes(sizeof(value)), sizeof(value));
    return value;
  }
  const char* take_bytes(uint64_t count) {
    LACT_CHECK(count <= bytes_.size() - at_, "{}: its pickle is cut off at byte {}", path_, at_);
    const char* here = bytes_.data() + at_;
    at_ += count;
    return here;
  }
  std::string take_text(uint64_t count) { return {take_bytes(count), count}; }
  std::string take_line() {
    const size_t end = bytes_.find('\n', at_);
    LACT_CHECK(end != std::string::npos, "{}: its pickle is cut off at byte {}", path_, at_);
    const std::string line(bytes_.substr(at_, end - at_));
    at_ = end + 1;
    return line;
  }

  PickleValue* make(Kind kind) {
    values_.emplace_back();
    values_.back().kind = kind;
    return &values_.back();
  }
  void push(PickleValue* value) { stack_.push_back(value); }
  void push_integer(int64_t number, Kind kind = Kind::integer) {
    PickleValue* value = make(kind);
    value->integer = number;
    push(value);
  }
  void push_text(std::string text) {
    PickleValue* value = make(Kind::text);
    value->text = std::move(text);
    push(value);
  }
  PickleValue* top() {
    // Values below the last mark belong to what was begun there.
    LACT_CHECK(!stack_.empty() && (marks_.empty() || stack_.size() > marks_.back()),
               "{}: its pickle takes more values than it gives, at byte {}", path_, at_);
    return stack_.back();
  }
  PickleValue* pop() {
    PickleValue* value = top();
    stack_.pop_back();
    return value;
  }
  std::vector<const PickleValue*> pop_to_mark() {
    LACT_CHECK(!marks_.empty(), "{}: its pickle ends a list that it did not begin, at byte {}", path_, at_);
    const auto first = stack_.begin() + std::ptrdiff_t(marks_.back());
    std::vector<const PickleValue*> items(first, stack_.end());
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return items;
  }
  void push_tuple(std::vector<const PickleValue*> items) {
    PickleValue* value = make(Kind::list);
    value->items = std::move(items);
    push(value);
  }
  void push_last(size_t count) {
    std::vector<const PickleValue*> items(count);
    for (size_t i = count; i-- > 0;) items[i] = pop();
    push_tuple(std::move(items));
  }
  void add_items(Kind kind, const std::vector<const PickleValue*>& items) {
    PickleValue* target = top();
    LACT_CHECK(target->kind == kind && (kind != Kind::dict || items.size() % 2 == 0),
               "{}: its pickle adds to something that is no list or dict, at byte {}", path_, at_);
    target->items.insert(target->items.end(), items.begin(), items.end());
  }
  void remember(uint64_t key) { memo_[key] = top(); }
  void recall(uint64_t key) {
    const auto found = memo_.find(key);
    LACT_CHECK(found != memo_.end(), "{}: its pickle refers to value {}, which does not exist", path_, key);
    push(found->second);
  }
  void push_name(const std::string& name) {
    LACT_CHECK(is_known_name(name),
               "{}: names {}; only the tensors of a state dict are read, and nothing is executed", path_,
               shown(name));
    PickleValue* value = make(Kind::name);
    value->text = name;
    push(value);
  }

  int64_t integer_of(const PickleValue* value, const char* what) const {
    LACT_CHECK(value->kind == Kind::integer, "{}: {} of a tensor is not a whole number", path_, what);
    return value->integer;
  }
  std::vector<int64_t> integers_of(const PickleValue* value, const char* what) const {
    LACT_CHECK(value->kind == Kind::list, "{}: {} of a tensor is not a list", path_, what);
    LACT_CHECK(value->items.size() <= kMostDims, "{}: {} of a tensor has {} numbers, expected at most {}",
               path_, what, value->items.size(), kMostDims);
    std::vector<int64_t> numbers;
    for (const auto* item : value->items) numbers.push_back(integer_of(item, what));
    return numbers;
  }

  void push_storage() {
    const PickleValue* id = pop();
    // ("storage", type, key, device, elements), before PyTorch 1.6 with None behind them: the storage is not
    // a part of another one.
    const size_t count = id->kind == Kind::list ? id->items.size() : 0;
    const bool fits = (count == 5 || (count == 6 && id->items[5]->kind == Kind::none)) &&
                      id->items[0]->kind == Kind::text && id->items[0]->text == "storage" &&
                      id->items[1]->kind == Kind::name && id->items[2]->kind == Kind::text;
    LACT_CHECK(fits && storage_types().count(id->items[1]->text) > 0,
               "{}: its pickle refers to something that is not a tensor's storage", path_);
    LACT_CHECK(id->items[2]->text.size() <= kLongestKey,
               "{}: the key of a storage has {} bytes, expected at most {}", path_, id->items[2]->text.size(),
               kLongestKey);
    PickleValue* value = make(Kind::storage);
    value->type = storage_types().at(id->items[1]->text);
    value->text = id->items[2]->text;
    value->integer = integer_of(id->items[4], "the number of elements");
    push(value);
  }

  void call() {
    const PickleValue* arguments = pop();
    const PickleValue* function = pop();
    LACT_CHECK(function->kind == Kind::name && arguments->kind == Kind::list,
               "{}: its pickle calls something that is no function, at byte {}", path_, at_);
    const auto& name = function->text;
    const auto& given = arguments->items;
    if (name == "collections.OrderedDict" && given.empty()) return push(make(Kind::dict));
    if (name == "collections.OrderedDict" && given.size() == 1) return push_dict_of_pairs(*given[0]);
    if (name == "torch.Size" && given.size() == 1 && given[0]->kind == Kind::list)
      return push(const_cast<PickleValue*>(given[0]));
    const bool parameter = (name == "torch._utils._rebuild_parameter" && given.size() == 3) ||
                           (name == kOldParameter && (given.size() == 1 || given.size() == 2));
    if (parameter && given[0]->kind == Kind::tensor) return push(const_cast<PickleValue*>(given[0]));
    const bool fits = (name == kTensor && given.size() >= 6 && given.size() <= 7) ||
                      (name == kOldTensor && given.size() == 4);
    LACT_CHECK(fits && given[0]->kind == Kind::storage, "{}: calls {} with {} arguments that do not fit",
               path_, name, given.size());
    PickleValue* tensor = make(Kind::tensor);
    tensor->items = {given[0]};
    tensor->integer = integer_of(given[1], "the offset");
    tensor->sizes = integers_of(given[2], "the shape");
    tensor->strides = integers_of(given[3], "the strides");
    push(tensor);
  }

  /// Python 2 makes an OrderedDict of a list of pairs, each a list or tuple.
  void push_dict_of_pairs(const PickleValue& pairs) {
    PickleValue* made = make(Kind::dict);
    copied_ += pairs.items.size();  // the one list that is copied: it may be shown again and again
    bool fits = pairs.kind == Kind::list && copied_ < kMostInstructions;
    for (size_t i = 0; fits && i < pairs.items.size(); ++i) {
      const PickleValue& pair = *pairs.items[i];
      fits = pair.kind == Kind::list && pair.items.size() == 2;
      if (fits) made->items.insert(made->items.end(), pair.items.begin(), pair.items.end());
    }
    LACT_CHECK(fits, "{}: calls collections.OrderedDict with 1 arguments that do not fit", path_);
    push(made);
  }

  /// Attributes of an OrderedDict, such as _metadata, and of an old parameter, such as its gradient flag, say
  /// nothing about the tensors.
  void build() {
    pop();
    LACT_CHECK(top()->kind == Kind::dict || top()->kind == Kind::tensor,
               "{}: its pickle sets attributes of something that is no dict", path_);
  }

  void push_long(uint64_t count) {
    LACT_CHECK(count <= 8, "{}: its pickle holds a whole number of {} bytes, expected at most 8", path_,
               count);
    uint64_t number = 0;
    const char* bytes = take_bytes(count);
    std::memcpy(&number, bytes, count);
    if (count > 0 && count < 8 && (uint8_t(bytes[count - 1]) & 0x80) != 0)
      number |= ~uint64_t(0) << (8 * count);
    push_integer(int64_t(number));
  }

  void push_real() {
    uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits = bits << 8 | take<uint8_t>();
    PickleValue* value = make(Kind::real);
    value->real = std::bit_cast<double>(bits);
    push(value);
  }

  /// Whether this was the last step.
  bool step(uint8_t code) {
    switch (code) {
      case 0x80:
        take<uint8_t>();
        return false;  // PROTO
      case 0x95:
        take<uint64_t>();
        return false;  // FRAME
      case '.':
        return true;
      case '(':
        marks_.push_back(stack_.size());
        return false;
      case '0':
        pop();
        return false;
      case '1':
        pop_to_mark();
        return false;
      case 'N':
        push(make(Kind::none));
        return false;
      case 0x88:
        push_integer(1, Kind::boolean);
        return false;
      case 0x89:
        push_integer(0, Kind::boolean);
        return false;
      case 'J':
        push_integer(take<int32_t>());
        return false;
      case 'K':
        push_integer(take<uint8_t>());
        return false;
      case 'M':
        push_integer(take<uint16_t>());
        return false;
      case 0x8a:
        push_long(take<uint8_t>());
        return false;
      case 'G':
        push_real();
        return false;
      case 'X':
        push_text(take_text(take<uint32_t>()));
        return false;
      case 0x8c:
        push_text(take_text(take<uint8_t>()));
        return false;
      case 0x8d:
        push_text(take_text(take<uint64_t>()));
        return false;
      case 'U':
        push_text(take_text(take<uint8_t>()));
        return false;
      case 'T':
        push_text(take_text(take<uint32_t>()));
        return false;
      case '}':
        push(make(Kind::dict));
        return false;
      case ']':
      case ')':
        push(make(Kind::list));
        return false;
      case 't':
        push_tuple(pop_to_mark());
        return false;
      case 0x85:
        push_last(1);
        return false;
      case 0x86:
        push_last(2);
        return false;
      case 0x87:
        push_last(3);
        return false;
      case 'a': {
        const auto* item = pop();
        add_items(Kind::list, {item});
        return false;
      }
      case 'e':
        add_items(Kind::list, pop_to_mark());
        return false;
      case 's': {
        const auto* value = pop();
        const auto* key = pop();
        add_items(Kind::dict, {key, value});
        return false;
      }
      case 'u':
        add_items(Kind::dict, pop_to_mark());
        return false;
      case 'q':
        remember(take<uint8_t>());
        return false;
      case 'r':
        remember(take<uint32_t>());
        return false;
      case 0x94:
        remember(memo_.size());
        return false;
      case 'h':
        recall(take<uint8_t>());
        return false;
      case 'j':
        recall(take<uint32_t>());
        return false;
      case 'c': {
        const std::string module = take_line();
        push_name(module + "." + take_line());
        return false;
      }
      case 0x93: {
        const auto* attribute = pop();
        const auto* module = pop();
        LACT_CHECK(attribute->kind == Kind::text && module->kind == Kind::text,
                   "{}: its pickle names something by what is no text, at byte {}", path_, at_);
        push_name(module->text + "." + attribute->text);
        return false;
      }
      case 'R':
        call();
        return false;
      case 'b':
        build();
        return false;
      case 'Q':
        push_storage();
        return false;
      default:
        fail("{}: its pickle has the instruction 0x{:02x} at byte {}, which a state dict does not need",
             path_, code, at_ - 1);
    }
  }

  const std::string& path_;
  std::string_view bytes_;
  std::deque<PickleValue>& values_;
  size_t at_ = 0;
  std::vector<PickleValue*> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, PickleValue*> memo_;
  size_t copied_ = 0;
};

}  // namespace

Pickle::Pickle(const std::string& path, std::string_view bytes) {
  PickleMachine machine(path, bytes, values_);
  root_ = machine.run();
  bytes_ = machine.position();
}

}  // namespace lact::io
