#include "format/pt2/pickle.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "format/pt2/pickle_code.hpp"
#include "io/dense.hpp"

namespace ingot {

namespace {

constexpr std::string_view kPickle = "data.pkl";
// Every instruction may make an object, so the length bounds the memory that a pickle can take.
// What is remembered and used again costs a few bytes a time whatever its size, so whatever is
// copied has a limit of its own.
constexpr uint64_t kLongestPickle = 8 << 20;
constexpr std::size_t kDeepest = 1000, kMostValues = 2'000'000, kMostArguments = 8, kLongestKey = 256;

enum class Function : uint8_t { rebuild_tensor_v2, rebuild_tensor_v3, rebuild_parameter, ordered_dict, size, device };

struct StorageClass {
  std::string_view name;
  DType dtype;
};
constexpr StorageClass kStorageClasses[] = {
    // clang-format off
    {"ByteStorage", DType::u8},          {"CharStorage", DType::i8},           {"ShortStorage", DType::i16},
    {"IntStorage", DType::i32},          {"LongStorage", DType::i64},          {"HalfStorage", DType::f16},
    {"BFloat16Storage", DType::bf16},    {"FloatStorage", DType::f32},         {"DoubleStorage", DType::f64},
    {"ComplexFloatStorage", DType::c64}, {"ComplexDoubleStorage", DType::c128}, {"BoolStorage", DType::b8},
    // clang-format on
};

// What stands on the machine's stack: sixteen bytes, with the rest in tables of the machine.
// Containers are known by their place in such a table, so that one that is on the stack and in the
// memo stays one.
struct Object {
  enum class Kind : uint8_t {
    // clang-format off
    none, boolean, integer, real, string, tuple, list, dict, tensor, dtype, function, storage_class, untyped_storage_class,
    // clang-format on
    storage
  };
  Kind kind = Kind::none;
  int64_t value = 0;  // a number, the bits of a real, an enumerator, or a place in a table
};
using Kind = Object::Kind;

std::optional<Object> known_global(std::string_view module, std::string_view name) {
  const auto function = [](Function f) { return Object{Kind::function, static_cast<int64_t>(f)}; };
  if (module == "torch._utils") {
    if (name == "_rebuild_tensor_v2") return function(Function::rebuild_tensor_v2);
    if (name == "_rebuild_tensor_v3") return function(Function::rebuild_tensor_v3);
    if (name == "_rebuild_parameter") return function(Function::rebuild_parameter);
  } else if (module == "collections") {
    if (name == "OrderedDict") return function(Function::ordered_dict);
  } else if (module == "torch.storage") {
    if (name == "UntypedStorage") return Object{Kind::untyped_storage_class, 0};
  } else if (module == "torch") {
    if (name == "Size") return function(Function::size);
    if (name == "device") return function(Function::device);
    for (const StorageClass& c : kStorageClasses)
      if (name == c.name) return Object{Kind::storage_class, static_cast<int64_t>(c.dtype)};
    for (int t = 0; t < kDTypes; t++)
      if (name == name_of(static_cast<DType>(t))) return Object{Kind::dtype, t};
  }
  return std::nullopt;
}

// The folder all entries lie in, with its slash.
std::string top_of(const ZipReader& file) { return file.names()[0].substr(0, file.names()[0].find('/') + 1); }

class Machine {
 public:
  Machine(const ZipReader& file, std::string pickle)
      : file_(file), pickle_(std::move(pickle)), code_(pickle_, file.what(kPickle)) {}

  PythonValue run() {
    if (const PickleStep first = code_.next(); first.op != PickleOp::PROTO || first.integer != 2)
      code_.fail("it is no pickle of protocol 2");
    while (true) {
      const PickleStep s = code_.next();
      if (s.op == PickleOp::STOP) break;
      step(s);
    }
    const Object result = pop();
    if (!stack_.empty() || !marks_.empty()) code_.fail("it ends with values left over");
    return tree(result, 0);
  }

 private:
  using Objects = std::vector<Object>;
  struct StorageRecord {
    std::string_view key;  // in the pickle
    std::optional<DType> dtype;  // none: untyped
    int64_t nbytes = 0;
  };
  struct TensorRecord {
    Tensor tensor;
    bool is_parameter = false, requires_grad = false;
  };

  const ZipReader& file_;
  const std::string pickle_;
  PickleCode code_;
  Objects stack_;
  std::vector<std::size_t> marks_;  // heights of the stack
  std::unordered_map<int64_t, Object> memo_;
  std::deque<std::string> made_;           // strings that are not in the pickle
  std::vector<std::string_view> strings_;  // in the pickle or made
  std::vector<Objects> containers_;        // of a dict: key, value, …
  std::vector<TensorRecord> tensors_;
  std::vector<StorageRecord> storages_;
  struct Loaded {
    Ref<Storage> storage;
    bool has_bools = false;  // its bytes were made true bools
  };
  std::map<std::string_view, Loaded> loaded_;  // by key
  std::size_t items_ = 0, values_ = 0, string_bytes_ = 0;

  // ---- the stack

  void push(Object o) { stack_.push_back(o); }
  Object pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) code_.fail("it takes a value where there is none");
    const Object o = stack_.back();
    stack_.pop_back();
    return o;
  }
  const Object& top() {
    push(pop());
    return stack_.back();
  }
  Objects pop_to_mark() {
    if (marks_.empty()) code_.fail("it goes back to a mark where there is none");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    Objects out(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return out;
  }
  Objects pop_several(std::size_t n) {
    Objects out(n);
    while (n-- > 0) out[n] = pop();
    return out;
  }
  // A pickle has at least a byte for each item of a container; that an OrderedDict is made of pairs
  // is the exception.
  void count_items(std::size_t n) {
    items_ += n;
    if (items_ / 4 > code_.size()) code_.fail("its containers have more items than its length allows");
  }
  Object container(Kind k, Objects items) {
    count_items(items.size());
    containers_.push_back(std::move(items));
    return {k, static_cast<int64_t>(containers_.size() - 1)};
  }
  Object string(std::string_view s) {
    strings_.push_back(s);
    return {Kind::string, static_cast<int64_t>(strings_.size() - 1)};
  }

  // ---- what objects are

  Objects& items(const Object& o) { return containers_[static_cast<std::size_t>(o.value)]; }
  // The items of an object that should be of this kind.
  Objects& items(const Object& o, Kind k, const char* what) {
    if (o.kind != k) code_.fail(what);
    return items(o);
  }
  std::string_view as_string(const Object& o, const char* what) {
    if (o.kind != Kind::string) code_.fail(what);
    return strings_[static_cast<std::size_t>(o.value)];
  }
  int64_t as_integer(const Object& o, const char* what) {
    if (o.kind != Kind::integer) code_.fail(what);
    return o.value;
  }

  // ---- instructions

  void step(const PickleStep& s) {
    switch (s.op) {
      case PickleOp::GLOBAL: {
        const auto known = known_global(s.text, s.name);
        if (!known) code_.fail(text("the class or function ", shown_name(text(s.text, ".", s.name)), " is not allowed"));
        return push(*known);
      }
      case PickleOp::BINPUT:
      case PickleOp::LONG_BINPUT: memo_[s.integer] = top(); return;
      case PickleOp::BINGET:
      case PickleOp::LONG_BINGET: {
        const auto it = memo_.find(s.integer);
        if (it == memo_.end()) code_.fail(text("nothing was remembered as ", s.integer));
        return push(it->second);
      }
      case PickleOp::MARK: marks_.push_back(stack_.size()); return;
      case PickleOp::TUPLE: return push(container(Kind::tuple, pop_to_mark()));
      case PickleOp::TUPLE1: return push(container(Kind::tuple, pop_several(1)));
      case PickleOp::TUPLE2: return push(container(Kind::tuple, pop_several(2)));
      case PickleOp::TUPLE3: return push(container(Kind::tuple, pop_several(3)));
      case PickleOp::EMPTY_TUPLE: return push(container(Kind::tuple, {}));
      case PickleOp::EMPTY_LIST: return push(container(Kind::list, {}));
      case PickleOp::EMPTY_DICT: return push(container(Kind::dict, {}));
      case PickleOp::APPEND: return extend(Kind::list, pop_several(1));
      case PickleOp::APPENDS: return extend(Kind::list, pop_to_mark());
      case PickleOp::SETITEM: return extend(Kind::dict, pop_several(2));
      case PickleOp::SETITEMS: return extend(Kind::dict, pop_to_mark());
      case PickleOp::BINUNICODE: return push(string(s.text));
      case PickleOp::BININT:
      case PickleOp::BININT1:
      case PickleOp::BININT2:
      case PickleOp::LONG1: return push({Kind::integer, s.integer});
      case PickleOp::BINFLOAT: return push({Kind::real, std::bit_cast<int64_t>(s.real)});
      case PickleOp::NONE: return push({});
      case PickleOp::NEWTRUE: return push({Kind::boolean, 1});
      case PickleOp::NEWFALSE: return push({Kind::boolean, 0});
      case PickleOp::REDUCE: {
        const Object args = pop(), function = pop();
        if (function.kind != Kind::function) code_.fail("it calls what is no function");
        const Objects& parts = items(args, Kind::tuple, "it calls without a tuple of arguments");
        if (parts.size() > kMostArguments) code_.fail(text("it calls with ", parts.size(), " arguments"));
        return push(reduce(static_cast<Function>(function.value), Objects(parts)));
      }
      case PickleOp::BUILD: {
        // The attributes of an ordered dict (a state dict's versions): nothing that a tensor needs.
        items(pop(), Kind::dict, "it sets attributes from what is no dict");
        items(top(), Kind::dict, "it sets attributes of what is no dict");
        return;
      }
      case PickleOp::BINPERSID: return push(storage(pop()));
      case PickleOp::PROTO: code_.fail("it names its protocol twice");
      case PickleOp::STOP: return;
    }
  }

  void extend(Kind k, const Objects& added) {
    if (k == Kind::dict && added.size() % 2 != 0) code_.fail("a key of a dict has no value");
    count_items(added.size());
    Objects& to = items(top(), k, k == Kind::dict ? "it sets items of what is no dict" : "it appends to what is no list");
    to.insert(to.end(), added.begin(), added.end());
  }

  Object reduce(Function f, const Objects& args) {
    switch (f) {
      case Function::rebuild_tensor_v2: return rebuild_tensor(args, false);
      case Function::rebuild_tensor_v3: return rebuild_tensor(args, true);
      case Function::rebuild_parameter: {
        if (args.size() < 2 || args[0].kind != Kind::tensor || args[1].kind != Kind::boolean)
          code_.fail("a parameter should be made of a tensor and a bool");
        TensorRecord t = tensors_[static_cast<std::size_t>(args[0].value)];
        t.is_parameter = true;
        t.requires_grad = args[1].value != 0;
        tensors_.push_back(std::move(t));
        return {Kind::tensor, static_cast<int64_t>(tensors_.size() - 1)};
      }
      case Function::ordered_dict: {
        Objects flat;
        if (!args.empty()) {
          const Objects& pairs = items(args[0], Kind::list, "an OrderedDict should be made of a list");
          count_items(pairs.size());
          for (const Object& pair : pairs) {
            const bool has_items = pair.kind == Kind::tuple || pair.kind == Kind::list;
            if (!has_items || items(pair).size() != 2) code_.fail("an OrderedDict should be made of pairs");
            flat.insert(flat.end(), items(pair).begin(), items(pair).end());
          }
        }
        return container(Kind::dict, std::move(flat));
      }
      case Function::size:
        if (args.size() != 1 || args[0].kind != Kind::tuple) code_.fail("a torch.Size should be made of a tuple");
        return args[0];
      case Function::device: {
        if (args.empty() || args.size() > 2) code_.fail("a torch.device should be made of a name and an index");
        const std::string_view type = as_string(args[0], "a torch.device should be made of a name");
        if (type.size() > kLongestKey) code_.fail("the name of a torch.device is too long");
        if (args.size() == 1) return args[0];
        made_.push_back(text(type, ":", as_integer(args[1], "the index of a torch.device should be an integer")));
        return string(made_.back());
      }
    }
    code_.fail("it calls an unknown function");
  }

  // ('storage', class, key, location, number of elements)
  Object storage(const Object& id) {
    const Objects& parts = items(id, Kind::tuple, "a persistent id should be a tuple");
    if (parts.size() != 5 || as_string(parts[0], "a persistent id should start with a string") != "storage")
      code_.fail("a persistent id should be that of a storage, with 5 parts");
    StorageRecord r;
    if (parts[1].kind == Kind::storage_class) r.dtype = static_cast<DType>(parts[1].value);
    else if (parts[1].kind != Kind::untyped_storage_class) code_.fail("the class of a storage is none");
    r.key = as_string(parts[2], "the key of a storage should be a string");
    if (r.key.size() > kLongestKey) code_.fail("the key of a storage is too long");
    const int64_t count = as_integer(parts[4], "the size of a storage should be an integer");
    if (count < 0 || __builtin_mul_overflow(count, int64_t{r.dtype ? size_of(*r.dtype) : 1}, &r.nbytes))
      code_.fail(text("a storage cannot have ", count, " elements"));
    storages_.push_back(std::move(r));
    return {Kind::storage, static_cast<int64_t>(storages_.size() - 1)};
  }

  Ref<Storage> load(const StorageRecord& r, DType dtype) {
    Loaded& l = loaded_[r.key];
    if (!l.storage) l.storage = read_storage(r);
    if (dtype == DType::b8 && !l.has_bools) normalize_bools(*l.storage);
    l.has_bools |= dtype == DType::b8;
    return l.storage;
  }
  Ref<Storage> read_storage(const StorageRecord& r) {
    // Asking the archive for it is safe whatever the key is: a name that is not in its directory is
    // not found.
    const std::string entry = text(top_of(file_), "data/", r.key);
    if (!file_.contains(entry)) code_.fail(text("the storage ", shown_name(entry), " is not in the file"));
    return file_.read_storage(entry);
  }

  std::vector<int64_t> integers(const Object& o, const char* what) {
    const Objects& all = items(o, Kind::tuple, what);
    if (all.size() > kMaxFileDims) code_.fail(text(all.size(), " dims, at most ", kMaxFileDims, " are allowed"));
    std::vector<int64_t> out;
    for (const Object& i : all) out.push_back(as_integer(i, what));
    return out;
  }

  // (storage, offset, sizes, strides, requires_grad, hooks[, dtype][, metadata])
  Object rebuild_tensor(const Objects& args, bool v3) {
    const std::size_t least = v3 ? 7 : 6;
    if (args.size() < least || args.size() > least + 1)
      code_.fail(text("a tensor should be made of ", least, " parts, found ", args.size()));
    if (args[0].kind != Kind::storage) code_.fail("a tensor should be made of a storage");
    if (args[4].kind != Kind::boolean) code_.fail("requires_grad of a tensor should be a bool");
    const StorageRecord& r = storages_[static_cast<std::size_t>(args[0].value)];
    if (v3 ? args[6].kind != Kind::dtype : !r.dtype.has_value()) code_.fail("a tensor has no dtype");
    if (args.size() > least) {
      const Object& extra = args[least];
      const bool nothing = extra.kind == Kind::none || (extra.kind == Kind::dict && items(extra).empty());
      if (!nothing) code_.fail("a tensor has attributes (it is conjugated or negated); only plain tensors are supported");
    }
    Geometry g;
    g.dtype = v3 ? static_cast<DType>(args[6].value) : *r.dtype;
    const int64_t offset = as_integer(args[1], "the offset of a tensor should be an integer");
    for (const std::size_t i : {2, 3})
      if (args[i].kind == Kind::tuple) count_items(items(args[i]).size());  // a tensor has them for itself
    const auto sizes = integers(args[2], "the sizes of a tensor should be integers");
    const auto strides = integers(args[3], "the strides of a tensor should be integers");
    if (sizes.size() != strides.size()) code_.fail(text(sizes.size(), " sizes and ", strides.size(), " strides"));
    const auto need = strided_bytes(sizes, strides, offset, g.dtype);
    if (!need) code_.fail("the sizes, strides or offset of a tensor are negative or too large");
    const Ref<Storage> storage = load(r, g.dtype);
    const int64_t have = std::min(storage->nbytes().value(), r.nbytes);
    if (have < *need) code_.fail(text("the storage ", shown_name(r.key), " has ", have, " bytes, ", *need, " needed"));
    g.sizes = Shape(sizes);
    g.strides = Shape(strides);
    g.offset = offset;
    tensors_.push_back({Tensor(make_ref<TensorImpl>(storage, std::move(g))), false, args[4].value != 0});
    return {Kind::tensor, static_cast<int64_t>(tensors_.size() - 1)};
  }

  // ---- the result

  // A container may be met many times, even inside itself: both the depth and the number of values
  // are limited.
  PythonValue tree(const Object& o, std::size_t depth) {
    if (depth > kDeepest) code_.fail(text("its values nest deeper than ", kDeepest));
    if (++values_ > std::min(kMostValues, code_.size())) code_.fail("it has more values than its length allows");
    using Out = PythonValue::Kind;
    PythonValue v;
    switch (o.kind) {
      case Kind::none: break;
      case Kind::boolean:
        v.kind = Out::boolean;
        v.integer = o.value;
        break;
      case Kind::integer:
        v.kind = Out::integer;
        v.integer = o.value;
        break;
      case Kind::real:
        v.kind = Out::real;
        v.real = std::bit_cast<double>(o.value);
        break;
      case Kind::string:
        v.kind = Out::string;
        v.string = strings_[static_cast<std::size_t>(o.value)];
        string_bytes_ += v.string.size();
        if (string_bytes_ / 16 > code_.size()) code_.fail("its strings are longer than its length allows");
        break;
      case Kind::dtype:
        v.kind = Out::dtype;
        v.dtype = static_cast<DType>(o.value);
        break;
      case Kind::tensor: {
        const TensorRecord& t = tensors_[static_cast<std::size_t>(o.value)];
        v.kind = Out::tensor;
        v.tensor = t.tensor;
        v.is_parameter = t.is_parameter;
        v.requires_grad = t.requires_grad;
        break;
      }
      case Kind::tuple:
      case Kind::list:
      case Kind::dict:
        v.kind = o.kind == Kind::tuple ? Out::tuple : o.kind == Kind::list ? Out::list : Out::dict;
        for (const Object& item : items(o)) v.items.push_back(tree(item, depth + 1));
        break;
      default: code_.fail("a value is a class, a function or a bare storage");
    }
    return v;
  }
};

std::string pickle_of(const ZipReader& file) {
  INGOT_REQUIRE(!file.names().empty(), file.what(), ": it has no entries");
  const std::string top = top_of(file);
  if (file.contains(top + "byteorder")) {
    const std::string order = file.read_text(top + "byteorder", 64);
    INGOT_REQUIRE(order == "little", file.what(top + "byteorder"), ": expected little, found ", shown_name(order));
  }
  return file.read_text(text(top, kPickle), kLongestPickle);
}

}  // namespace

const PythonValue* PythonValue::find(std::string_view key) const {
  for (std::size_t i = 0; is(Kind::dict) && i + 1 < items.size(); i += 2)
    if (items[i].is(Kind::string) && items[i].string == key) return &items[i + 1];
  return nullptr;
}

PythonValue read_torch_save(const ZipReader& file) { return Machine(file, pickle_of(file)).run(); }

std::string foreign_class(const ZipReader& file) {
  const std::string pickle = pickle_of(file);
  std::string function;
  try {
    PickleCode code(pickle, {});
    for (PickleStep s = code.next(); s.op != PickleOp::STOP; s = code.next()) {
      if (s.op != PickleOp::GLOBAL || known_global(s.text, s.name)) continue;
      // Functions that rebuild a tensor come before the class they rebuild.
      if (!s.name.starts_with("_rebuild")) return text(s.text, ".", s.name);
      if (function.empty()) function = text(s.text, ".", s.name);
    }
  } catch (const UserError&) {
    // It cannot be read further; what was found so far is the best there is.
  }
  return function;
}

}  // namespace ingot
