#include "host/torch/stable_value.hpp"

#include <cstring>
#include <memory>

#include "base/dtype_code.hpp"
#include "base/error.hpp"
#include "host/torch/handle.hpp"

using namespace ingot;

struct StableListOpaque {
  std::vector<StableIValue> values;
};
struct StringOpaque {
  std::string text;
};

namespace ingot {
namespace {

// The bits of a value of at most eight bytes, and back.
template <class T>
StableIValue bits_of(T v) {
  StableIValue out = 0;
  std::memcpy(&out, &v, sizeof v);
  return out;
}
template <class T>
T from_bits(StableIValue bits) {
  T out;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}
// What the bits are the address of, which is the caller's now.
template <class T>
std::unique_ptr<T> taken(StableIValue bits, const char* what) {
  std::unique_ptr<T> p(from_bits<T*>(bits));
  INGOT_REQUIRE(p, "expected ", what, " on the stack, found null");
  return p;
}

SchemaType element_of(const SchemaType& list) {
  SchemaType t = list;
  t.lists--;
  t.optional = t.lists == 0 && list.element_optional;
  t.element_optional = t.lists > 0 && list.element_optional;
  return t;
}

// A list of one type as Value has it.
Value typed_list(const Values& elements, const SchemaType& element) {
  const auto as = [&]<class List>(List list, const auto& of) {
    for (const Value& v : elements) list.push_back(of(v));
    return Value(std::move(list));
  };
  if (element.is_list()) return elements;
  switch (element.kind) {
    case Kind::tensor: return as(TensorList(), [](const Value& v) { return v.tensor_or_none(); });
    case Kind::integer:
    case Kind::sym_int: return as(Shape(), [](const Value& v) { return v.to_int(); });
    case Kind::real: return as(std::vector<double>(), [](const Value& v) { return v.to_double(); });
    case Kind::boolean: return as(std::vector<bool>(), [](const Value& v) { return v.to_bool(); });
    default: return elements;
  }
}

// Upper half: the type's code; lower half: the index.
Value device_of(StableIValue bits) {
  const auto type = static_cast<int32_t>(bits >> 32);
  INGOT_REQUIRE(type == aoti_torch_device_type_cpu(), "device type ", type, ": this host has CPU tensors only");
  return Device{};
}
StableIValue bits_of_device() {
  constexpr uint32_t kNoIndex = 0xffffffff;
  return StableIValue{static_cast<uint32_t>(aoti_torch_device_type_cpu())} << 32 | kNoIndex;
}

}  // namespace

Value take_stable(StableIValue bits, const SchemaType& t) {
  if (t.optional) {
    if (bits == 0) return {};
    SchemaType inner = t;
    inner.optional = false;
    return take_stable(*taken<StableIValue>(bits, "a value"), inner);
  }
  if (t.is_list()) {
    const SchemaType element = element_of(t);
    Values elements;
    const auto list = taken<StableListOpaque>(bits, "a list");
    for (const StableIValue v : list->values) elements.push_back(take_stable(v, element));
    return typed_list(elements, element);
  }
  switch (t.kind) {
    case Kind::tensor: return tensor_of(taken<AtenTensorOpaque>(bits, "a tensor").get());
    case Kind::integer:
    case Kind::sym_int: return from_bits<int64_t>(bits);
    case Kind::real:
    case Kind::scalar: return from_bits<double>(bits);
    case Kind::boolean:
    case Kind::sym_bool: return from_bits<bool>(bits);
    case Kind::string: return taken<StringOpaque>(bits, "a string")->text;
    case Kind::device: return device_of(bits);
    case Kind::generator: return taken<AtenGeneratorOpaque>(bits, "a generator")->generator;
    case Kind::dtype: {
      const auto dtype = dtype_of_code(from_bits<int32_t>(bits));
      INGOT_REQUIRE(dtype, "dtype ", from_bits<int32_t>(bits), ": Ingot has no such type");
      return *dtype;
    }
    case Kind::layout: {
      const auto code = from_bits<int32_t>(bits);
      INGOT_REQUIRE(code == aoti_torch_layout_strided(), "layout ", code, ": this host has strided tensors only");
      return Layout::strided;
    }
    case Kind::memory_format: {
      const auto code = from_bits<int32_t>(bits);
      INGOT_REQUIRE(code >= 0 && code <= aoti_torch_memory_format_channels_last_3d(), "memory format ", code,
                    ": there is no such format");
      return static_cast<MemoryFormat>(code);
    }
    default: throw_user_error(text("a value of type ", t.name, " has no form on this host's stack"));
  }
}

StableIValue give_stable(const Value& v, const SchemaType& t) {
  if (t.optional) {
    if (v.is_none()) return 0;
    SchemaType inner = t;
    inner.optional = false;
    return bits_of(new StableIValue(give_stable(v, inner)));
  }
  if (t.is_list()) {
    const SchemaType element = element_of(t);
    auto list = std::make_unique<StableListOpaque>();
    for (const Value& e : list_elements(v)) list->values.push_back(give_stable(e, element));
    return bits_of(list.release());
  }
  switch (t.kind) {
    case Kind::tensor: return bits_of(new_handle(v.tensor_or_none()));
    case Kind::integer:
    case Kind::sym_int: return bits_of(v.to_int64());
    case Kind::real:
    case Kind::scalar: return bits_of(v.to_double());
    case Kind::boolean:
    case Kind::sym_bool: return bits_of(v.to_bool());
    case Kind::string: return bits_of(new StringOpaque{v.string()});
    case Kind::device: return bits_of_device();
    case Kind::generator: return bits_of(new AtenGeneratorOpaque{v.generator<Generator>()});
    case Kind::dtype: return bits_of(aoti_code(v.dtype()));
    case Kind::layout: return bits_of(aoti_torch_layout_strided());
    case Kind::memory_format: return bits_of(static_cast<int32_t>(v.memory_format()));
    default: throw_user_error(text("a value of type ", t.name, " has no form on this host's stack"));
  }
}

}  // namespace ingot

namespace {

StableListOpaque& list_of(StableListHandle list) {
  INGOT_REQUIRE(list != nullptr, "expected a list, found a null handle");
  return *list;
}
StableIValue& element_at(StableListHandle list, size_t index) {
  std::vector<StableIValue>& values = list_of(list).values;
  INGOT_REQUIRE(index < values.size(), "element ", index, " of a list of ", values.size());
  return values[index];
}
StringOpaque& string_of(StringHandle string) {
  INGOT_REQUIRE(string != nullptr, "expected a string, found a null handle");
  return *string;
}

}  // namespace

AOTITorchError torch_new_list_reserve_size(size_t size, StableListHandle* ret) {
  return as_status([&] {
    auto list = std::make_unique<StableListOpaque>();
    list->values.reserve(size);
    *ret = list.release();
  });
}
AOTITorchError torch_list_size(StableListHandle list_handle, size_t* size) {
  return as_status([&] { *size = list_of(list_handle).values.size(); });
}
AOTITorchError torch_list_get_item(StableListHandle list_handle, size_t index, StableIValue* element) {
  return as_status([&] { *element = element_at(list_handle, index); });
}
AOTITorchError torch_list_set_item(StableListHandle list_handle, size_t index, StableIValue element) {
  return as_status([&] { element_at(list_handle, index) = element; });
}
AOTITorchError torch_list_push_back(StableListHandle list_handle, StableIValue element) {
  return as_status([&] { list_of(list_handle).values.push_back(element); });
}
AOTITorchError torch_delete_list(StableListHandle list_handle) {
  return as_status([&] { delete list_handle; });
}

AOTITorchError torch_new_string_handle(const char* data, size_t length, StringHandle* handle) {
  return as_status([&] {
    INGOT_REQUIRE(data != nullptr || length == 0, "a string of ", length, " bytes at null");
    *handle = new StringOpaque{length == 0 ? std::string() : std::string(data, length)};
  });
}
AOTITorchError torch_string_length(StringHandle handle, size_t* length) {
  return as_status([&] { *length = string_of(handle).text.size(); });
}
AOTITorchError torch_string_c_str(StringHandle handle, const char** data) {
  return as_status([&] { *data = string_of(handle).text.c_str(); });
}
AOTITorchError torch_delete_string(StringHandle handle) {
  return as_status([&] { delete handle; });
}

AOTITorchError torch_new_generator_handle(AtenGeneratorHandle self, AtenGeneratorHandle* ret_new_generator) {
  return as_status([&] {
    INGOT_REQUIRE(self != nullptr, "expected a generator, found a null handle");
    *ret_new_generator = new AtenGeneratorOpaque{self->generator};
  });
}
AOTITorchError torch_delete_generator(AtenGeneratorHandle generator) {
  return as_status([&] { delete generator; });
}
