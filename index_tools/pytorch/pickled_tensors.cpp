#include "index_tools/pytorch/pickled_tensors.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr const char* kDownload = "download the file again";
constexpr const char* kSaveAgain = "save the model from PyTorch with save_pretrained(), which writes safetensors";
constexpr std::size_t kMostValues = 1 << 22, kMostDimensions = 8;
/// Bytes of all texts that are pushed, remembered or stored: a pickle repeats a long one with two bytes per copy.
constexpr std::size_t kMostText = 256 << 20;
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 40;

struct StorageType {
  std::string_view name, type;
  std::uint64_t size;
};
constexpr std::array<StorageType, 10> kStorageTypes{{{"FloatStorage", "F32", 4},
                                                     {"HalfStorage", "F16", 2},
                                                     {"BFloat16Storage", "BF16", 2},
                                                     {"DoubleStorage", "F64", 8},
                                                     {"LongStorage", "I64", 8},
                                                     {"IntStorage", "I32", 4},
                                                     {"ShortStorage", "I16", 2},
                                                     {"CharStorage", "I8", 1},
                                                     {"ByteStorage", "U8", 1},
                                                     {"BoolStorage", "BOOL", 1}}};

struct Value;
using Items = std::vector<Value>;
struct Tuple;
struct Global {
  std::string name;  ///< "module name"
};
struct Storage {
  const StorageType* type = nullptr;
  std::string key;
  std::uint64_t elements = 0;
};
/// A tensor per name, or none for any other value, so that dictionaries cannot contain each other.
struct Dictionary {
  std::vector<std::pair<std::string, std::optional<PickledTensor>>> entries;
};
struct Mark {};
/// A value of the machine. Tuples and dictionaries are shared, as in Python.
struct Value {
  std::variant<std::monostate, Mark, bool, std::int64_t, std::string, Global, Storage, PickledTensor,
               std::shared_ptr<Tuple>, std::shared_ptr<Dictionary>>
      is;

  template <typename T>
  const T* as() const {
    return std::get_if<T>(&is);
  }
};

/// At most so deep, since what contains it is destroyed by recursion.
constexpr int kDeepest = 16;
struct Tuple {
  Items items;
  int depth = 1;
};

/// The machine that a pickle is a program for, with the operations that are allowed here.
class Machine {
 public:
  Machine(std::string_view pickle, const std::string& place) : bytes_(pickle), place_(place) {}

  Value run() {
    while (true) {
      at_ = next_;
      const auto operation = static_cast<unsigned char>(take(1).front());
      if (operation == '.') return pop();
      step(operation);
      if (stack_.size() + memo_.size() + entries_ > kMostValues) fail("has too many values");
    }
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ErrorKind::invalid_data, where(), problem, kDownload);
  }
  [[noreturn]] void refuse(const std::string& problem) const {
    throw Error(ErrorKind::unsupported, where(), problem, kSaveAgain);
  }

 private:
  std::string where() const { return fmt::format("{}, byte {}", place_, at_); }

  void step(unsigned char operation) {
    switch (operation) {
      case 0x80:  // PROTO
        if (const int version = take_byte(); version != 2) refuse(fmt::format("is a pickle of protocol {}", version));
        return;
      case '}': return push({std::make_shared<Dictionary>()});
      case ')': return push({std::make_shared<Tuple>()});
      case '(': return push({Mark()});
      case 'N': return push({std::monostate()});
      case 0x88: return push({true});
      case 0x89: return push({false});
      case 'K': return push({std::int64_t{take_byte()}});
      case 'M': return push({static_cast<std::int64_t>(take_number(2))});
      case 'J': return push({std::int64_t{static_cast<std::int32_t>(take_number(4))}});
      case 0x8a: return push({take_long()});
      case 'X': return push({std::string(take(take_number(4)))});
      case 'c': return push({take_global()});
      case 'q': return remember(take_number(1));
      case 'r': return remember(take_number(4));
      case 'h': return recall(take_number(1));
      case 'j': return recall(take_number(4));
      case 't': return push_tuple(pop_to_mark());
      case 0x85: return push_tuple(pop_some(1));
      case 0x86: return push_tuple(pop_some(2));
      case 0x87: return push_tuple(pop_some(3));
      case 's': return set_items(pop_some(2));
      case 'u': return set_items(pop_to_mark());
      case 'Q': {
        const Value id = pop();
        return push({storage_of(items_of(id))});
      }
      case 'R': return call();
      case 'b': {
        // A dictionary's attributes: the versions of modules.
        pop();
        if (top().as<std::shared_ptr<Dictionary>>() == nullptr) refuse("sets the state of an object");
        return;
      }
      default:
        refuse(fmt::format("has the operation 0x{:02x}, which a dictionary of tensors does not need", operation));
    }
  }

  std::string_view take(std::size_t count) {
    if (count > bytes_.size() - next_) fail("ends in the middle");
    const std::string_view taken = bytes_.substr(next_, count);
    next_ += count;
    return taken;
  }
  int take_byte() { return static_cast<unsigned char>(take(1).front()); }
  std::uint64_t take_number(std::size_t size) {
    std::uint64_t number = 0;
    std::memcpy(&number, take(size).data(), size);
    return number;
  }
  std::int64_t take_long() {
    const auto size = static_cast<std::size_t>(take_byte());
    if (size > 8) refuse("has an integer of more than 64 bits");
    if (size == 0) return 0;
    std::uint64_t number = take_number(size);
    const unsigned unused = static_cast<unsigned>(64 - 8 * size);
    return static_cast<std::int64_t>(number << unused) >> unused;
  }
  std::string take_line() {
    const std::size_t end = bytes_.find('\n', next_);
    if (end == std::string_view::npos) fail("ends in the middle");
    std::string line(take(end - next_));
    take(1);
    return line;
  }
  Global take_global() {
    std::string module = take_line();
    const std::string name = module + " " + take_line();
    constexpr std::array<std::string_view, 3> kCalls{"collections OrderedDict", "torch._utils _rebuild_tensor_v2",
                                                     "torch._utils _rebuild_parameter"};
    const bool storage = module == "torch" && storage_type(name.substr(module.size() + 1)) != nullptr;
    if (!storage && std::ranges::find(kCalls, name) == kCalls.end()) {
      refuse(fmt::format("names {}, which a dictionary of tensors does not need", name));
    }
    return {name};
  }
  static const StorageType* storage_type(std::string_view name) {
    const auto* const found = std::ranges::find(kStorageTypes, name, &StorageType::name);
    return found == kStorageTypes.end() ? nullptr : found;
  }

  void push(Value value) {
    count_text(value);
    stack_.push_back(std::move(value));
  }
  /// Before a value is copied.
  void count_text(const Value& value) {
    if (const auto* const text = value.as<std::string>()) text_ += text->size();
    if (const auto* const storage = value.as<Storage>()) text_ += storage->key.size();
    if (const auto* const tensor = value.as<PickledTensor>()) text_ += tensor->storage.size();
    if (text_ > kMostText) fail("repeats too much text");
  }
  Value& top() {
    if (stack_.empty()) fail("takes a value that is not there");
    return stack_.back();
  }
  Value pop() {
    Value value = std::move(top());
    stack_.pop_back();
    return value;
  }
  Items pop_to_mark() {
    std::size_t first = stack_.size();
    while (first > 0 && stack_[first - 1].as<Mark>() == nullptr) --first;
    if (first == 0) fail("takes values that are not there");
    Items items(std::make_move_iterator(stack_.begin() + static_cast<std::ptrdiff_t>(first)),
                std::make_move_iterator(stack_.end()));
    stack_.resize(first - 1);
    return items;
  }
  Items pop_some(std::size_t count) {
    Items items(count);
    for (std::size_t i = count; i-- > 0;) items[i] = pop();
    return items;
  }
  void push_tuple(Items items) {
    Tuple tuple{std::move(items)};
    for (const Value& item : tuple.items) {
      const auto* const inner = item.as<std::shared_ptr<Tuple>>();
      if (inner != nullptr) tuple.depth = std::max(tuple.depth, (*inner)->depth + 1);
    }
    if (tuple.depth > kDeepest) refuse("has tuples in each other");
    push({std::make_shared<Tuple>(std::move(tuple))});
  }
  void remember(std::uint64_t number) {
    count_text(top());
    memo_[number] = top();
  }
  void recall(std::uint64_t number) {
    const auto found = memo_.find(number);
    if (found == memo_.end()) fail("recalls a value that it has not remembered");
    push(found->second);
  }
  /// Only as long as the value.
  const Items& items_of(const Value& value) const {
    const auto* const tuple = value.as<std::shared_ptr<Tuple>>();
    if (tuple == nullptr) refuse("has another value where a tuple belongs");
    return (*tuple)->items;
  }
  void set_items(Items pairs) {
    const auto* const dictionary = top().as<std::shared_ptr<Dictionary>>();
    if (dictionary == nullptr || pairs.size() % 2 != 0) fail("sets entries of what is not a dictionary");
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      const auto* const key = pairs[i].as<std::string>();
      if (key == nullptr) refuse("has a dictionary whose keys are not texts");
      const auto* const tensor = pairs[i + 1].as<PickledTensor>();
      count_text(pairs[i]);
      count_text(pairs[i + 1]);
      ++entries_;
      (*dictionary)->entries.emplace_back(*key, tensor == nullptr ? std::nullopt : std::optional(*tensor));
    }
  }

  /// ('storage', its class, the file's name, the device, elements)
  Storage storage_of(const Items& id) const {
    const auto* const kind = id.size() == 5 ? id[0].as<std::string>() : nullptr;
    const auto* const type = id.size() == 5 ? id[1].as<Global>() : nullptr;
    const auto* const key = id.size() == 5 ? id[2].as<std::string>() : nullptr;
    const auto* const elements = id.size() == 5 ? id[4].as<std::int64_t>() : nullptr;
    if (kind == nullptr || *kind != "storage" || type == nullptr || key == nullptr || elements == nullptr) {
      refuse("refers to something else than a tensor's numbers");
    }
    Storage storage{storage_type(std::string_view(type->name).substr(type->name.find(' ') + 1)), *key,
                    static_cast<std::uint64_t>(*elements)};
    if (storage.type == nullptr || *elements < 0 || storage.elements > kMostElements) {
      fail("has impossible numbers of a tensor");
    }
    return storage;
  }

  void call() {
    const Value arguments = pop(), function = pop();
    const auto* const name = function.as<Global>();
    if (name == nullptr) refuse("calls what is not a function");
    const Items& items = items_of(arguments);
    if (name->name == "collections OrderedDict") {
      if (!items.empty()) refuse("makes an OrderedDict from something");
      return push({std::make_shared<Dictionary>()});
    }
    if (name->name == "torch._utils _rebuild_parameter") {
      if (items.empty() || items[0].as<PickledTensor>() == nullptr) refuse("makes a parameter of what is not a tensor");
      return push(items[0]);
    }
    if (name->name != "torch._utils _rebuild_tensor_v2") refuse(fmt::format("calls {}", name->name));
    push({tensor_of(items)});
  }

  /// (storage, first element, shape, strides, requires_grad, hooks)
  PickledTensor tensor_of(const Items& items) const {
    const auto* const storage = items.size() >= 4 ? items[0].as<Storage>() : nullptr;
    const auto* const first = items.size() >= 4 ? items[1].as<std::int64_t>() : nullptr;
    if (storage == nullptr || first == nullptr || *first < 0) refuse("makes a tensor from something else");
    PickledTensor tensor{{},
                         std::string(storage->type->type),
                         storage->key,
                         storage->elements,
                         static_cast<std::uint64_t>(*first),
                         sizes_of(items[2])};
    const std::vector<std::uint64_t> strides = sizes_of(items[3]);
    if (strides.size() != tensor.shape.size()) fail("has a tensor with strides of other dimensions");
    std::uint64_t elements = 1;
    for (std::size_t i = tensor.shape.size(); i-- > 0;) {
      if (tensor.shape[i] != 1 && strides[i] != elements) refuse("has a tensor that is not stored row by row");
      if (tensor.shape[i] != 0 && elements > kMostElements / tensor.shape[i]) {
        fail("has an impossibly large tensor");
      }
      elements *= tensor.shape[i];
    }
    if (tensor.first > storage->elements || elements > storage->elements - tensor.first) {
      fail(fmt::format("has a tensor of {} numbers from number {} on of {}", elements, *first, storage->elements));
    }
    return tensor;
  }
  std::vector<std::uint64_t> sizes_of(const Value& value) const {
    const Items& items = items_of(value);
    if (items.size() > kMostDimensions) fail("has a tensor of too many dimensions");
    std::vector<std::uint64_t> sizes;
    for (const Value& item : items) {
      const auto* const size = item.as<std::int64_t>();
      if (size == nullptr || *size < 0) fail("has an impossible size of a tensor");
      sizes.push_back(static_cast<std::uint64_t>(*size));
    }
    return sizes;
  }

  std::string_view bytes_;
  const std::string& place_;
  std::size_t next_ = 0, at_ = 0;
  Items stack_;
  std::map<std::uint64_t, Value> memo_;
  std::size_t entries_ = 0;  // of all dictionaries
  std::size_t text_ = 0;     // bytes so far
};

}  // namespace

std::uint64_t element_size_of(std::string_view type) {
  return std::ranges::find(kStorageTypes, type, &StorageType::type)->size;
}

std::vector<PickledTensor> read_pickled_tensors(std::string_view pickle, const std::string& place) {
  Machine machine(pickle, place);
  const Value result = machine.run();
  const auto* const dictionary = result.as<std::shared_ptr<Dictionary>>();
  if (dictionary == nullptr) machine.refuse("is not a dictionary of tensors");
  std::vector<PickledTensor> tensors;
  for (const auto& [name, tensor] : (*dictionary)->entries) {
    if (!tensor) machine.refuse(fmt::format("has an entry {} that is not a tensor", name));
    tensors.push_back(*tensor);
    tensors.back().name = name;
  }
  if (tensors.empty()) machine.fail("has no tensors");
  return tensors;
}

}  // namespace relucent::index_tools
