// Value: one argument or result of an op. Small (24 bytes): lists and strings are shared and
// immutable.
#pragma once
#include <complex>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ingot/tensor.hpp"

namespace ingot {

class Value;
using Values = std::vector<Value>;
using Args = std::span<const Value>;

enum class Layout : uint8_t { strided, sparse };

class Generator;  // a random stream (ingot/random.hpp)

// A function of values, as higher-order ops take them: a graph (src/graph/interpret.hpp) or a C++
// function.
class Callable : public Counted {
 public:
  virtual Values operator()(Args args) const = 0;
};

class Value {
 public:
  // Out of line: what copies and destroys eighteen alternatives takes a compiler longer than most
  // sources that do.
  Value();
  Value(const Value& o);
  Value(Value&& o) noexcept;
  Value& operator=(const Value& o);
  Value& operator=(Value&& o) noexcept;
  ~Value();

  Value(std::nullopt_t) : Value() {}
  Value(Int v);
  Value(bool v);
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Value(T v) : Value(Int(v)) {}
  Value(double v);
  Value(Float v);
  Value(float v) : Value(static_cast<double>(v)) {}
  Value(std::complex<double> v);
  Value(const Scalar& s);
  Value(const Tensor& t);  // an undefined tensor is None
  Value(DType t);
  Value(Device d);
  Value(Layout l);
  Value(MemoryFormat f);
  Value(Shape s);
  Value(TensorList l);  // undefined members are None
  Value(std::vector<double> l);
  Value(std::vector<bool> l);
  Value(Values l);
  Value(std::string s);
  Value(std::string_view s) : Value(std::string(s)) {}
  Value(const char* s) : Value(std::string(s)) {}
  Value(Ref<Callable> f);
  // Templates only so that Generator need not be complete here. No generator is None.
  template <std::same_as<Generator> G>
  Value(const Ref<G>& g) : Value() {
    if (g) set_generator(Ref<Counted>(g));
  }
  template <class T>
  Value(const std::optional<T>& v) : Value() {
    if (v) *this = Value(*v);
  }

  bool is_none() const { return v_.index() == 0; }
  bool is_int() const { return std::holds_alternative<Int>(v_); }
  bool is_float() const { return std::holds_alternative<Float>(v_); }
  bool is_bool() const { return std::holds_alternative<bool>(v_); }
  bool is_complex() const { return std::holds_alternative<std::complex<double>>(v_); }
  bool is_number() const { return is_int() || is_float() || is_bool() || is_complex(); }
  bool is_tensor() const { return std::holds_alternative<Tensor>(v_); }
  bool is_ints() const { return std::holds_alternative<Ref<Box<Shape>>>(v_); }
  bool is_tensors() const { return std::holds_alternative<Ref<Box<TensorList>>>(v_); }
  bool is_floats() const { return std::holds_alternative<Ref<Box<std::vector<double>>>>(v_); }
  bool is_bools() const { return std::holds_alternative<Ref<Box<std::vector<bool>>>>(v_); }
  bool is_values() const { return std::holds_alternative<Ref<Box<Values>>>(v_); }
  bool is_string() const { return std::holds_alternative<Ref<Box<std::string>>>(v_); }
  bool is_dtype() const { return std::holds_alternative<DType>(v_); }
  bool is_device() const { return std::holds_alternative<Device>(v_); }
  bool is_layout() const { return std::holds_alternative<Layout>(v_); }
  bool is_memory_format() const { return std::holds_alternative<MemoryFormat>(v_); }
  bool is_generator() const { return std::holds_alternative<Ref<Counted>>(v_); }
  bool is_function() const { return std::holds_alternative<Ref<Callable>>(v_); }

  // Each accessor requires its kind (an internal error otherwise), except where said.
  const Tensor& tensor() const;
  Tensor tensor_or_none() const { return is_none() ? Tensor() : tensor(); }
  Int to_int() const;                       // an int; a bool counts as 0 or 1
  int64_t to_int64() const { return to_int().value(); }
  Float to_float() const;                     // any real number
  double to_double() const;                 // the same as a plain one
  bool to_bool() const;                     // a bool; an int counts as non-zero
  Scalar to_scalar() const;                 // any number
  const Shape& ints() const;
  const TensorList& tensors() const;
  const std::vector<double>& floats() const;
  const std::vector<bool>& bools() const;
  const Values& values() const;
  const std::string& string() const;
  DType dtype() const;
  Device device() const;
  MemoryFormat memory_format() const;
  Layout layout() const;
  const Callable& function() const;
  template <std::same_as<Generator> G = Generator>
  Ref<G> generator() const {
    return Ref<G>(static_cast<G*>(counted()));
  }

  // The value, or the default when None.
  Int int_or(Int d) const { return is_none() ? d : to_int(); }
  bool bool_or(bool d) const { return is_none() ? d : to_bool(); }
  double double_or(double d) const { return is_none() ? d : to_double(); }
  DType dtype_or(DType d) const { return is_none() ? d : dtype(); }
  std::optional<Int> optional_int() const { return is_none() ? std::nullopt : std::optional<Int>(to_int()); }

  // Structural equality: tensors and functions by identity, integers without guards, NaN equals
  // itself.
  bool same(const Value& o) const;
  std::string_view kind_name() const;       // "int", "Tensor", "int[]", … for messages

 private:
  template <class T>
  struct Box : Counted {
    T value;
    explicit Box(T v) : value(std::move(v)) {}
  };
  std::variant<std::monostate, Int, Float, bool, std::complex<double>, Tensor, DType, Device, Layout, MemoryFormat,
               Ref<Box<Shape>>, Ref<Box<TensorList>>, Ref<Box<std::vector<double>>>, Ref<Box<std::vector<bool>>>,
               Ref<Box<Values>>, Ref<Box<std::string>>, Ref<Counted>, Ref<Callable>>
      v_;

  Counted* counted() const;  // of a generator
  void set_generator(Ref<Counted> g);
};

// The list of these values as an op takes it: int[], float[], bool[], Tensor[] (None becomes an
// undefined tensor) where the elements are all of that kind, else a list of values.
Value list_value(Values elements);
// The members of a list of any kind; user error for anything else.
Values list_elements(const Value& list);

std::string to_text(const Value& v);  // as a listing shows it: 2, 0.5, True, None, [1, 2], 'tanh'; a tensor as its geometry

}  // namespace ingot
