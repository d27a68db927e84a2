// Functions that take their tensors as arguments and return one, as they are written, made to and
// from the TensorFunction that transforms are over:
//
//   Tensor g = grad([](const Tensor& w, const Tensor& x) { return (w * x).sum(); })(w, x);
//   Tensor s = vmap([](const Tensor& row) { return row.softmax(0); })(x);
#pragma once
#include <concepts>
#include <cstddef>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "ingot/tensor.hpp"

namespace ingot {

using TensorFunction = std::function<TensorList(const TensorList&)>;

// What a transform of such a function is: called with `Count` tensors it returns a Result.
template <class Result, std::size_t Count>
class TensorCall;

namespace detail {

template <class... A>
inline constexpr bool kAllTensors = sizeof...(A) > 0 && (std::same_as<std::remove_cvref_t<A>, Tensor> && ...);
// What a transform gives for a result: values, and Tensors for what derives from it, such as x[i].
template <class R>
struct ResultAs {
  using type = std::conditional_t<std::derived_from<R, Tensor>, Tensor, R>;
};
template <class... R>
struct ResultAs<std::tuple<R...>> {
  using type = std::tuple<typename ResultAs<std::remove_cvref_t<R>>::type...>;
};
template <class R, class... A>
struct CallShape {
  using Result = typename ResultAs<std::remove_cvref_t<R>>::type;
  static constexpr std::size_t count = sizeof...(A);
  static constexpr bool of_tensors = kAllTensors<A...>;
};
template <class F>
struct ShapeOfCall : ShapeOfCall<decltype(&F::operator())> {};
template <class R, class... A>
struct ShapeOfCall<R (*)(A...)> : CallShape<R, A...> {};
template <class C, class R, class... A>
struct ShapeOfCall<R (C::*)(A...)> : CallShape<R, A...> {};
template <class C, class R, class... A>
struct ShapeOfCall<R (C::*)(A...) const> : CallShape<R, A...> {};
template <class R, std::size_t N>
struct ShapeOfCall<TensorCall<R, N>> {
  using Result = R;
  static constexpr std::size_t count = N;
  static constexpr bool of_tensors = true;
};

inline TensorList listed(Tensor t) { return {std::move(t)}; }
inline TensorList listed(TensorList l) { return l; }
template <class... T>
TensorList listed(const std::tuple<T...>& t) {
  return std::apply([](const auto&... each) { return TensorList{each...}; }, t);
}
template <class T>
T unlisted(TensorList l) {
  if constexpr (std::same_as<T, Tensor>) return std::move(l.front());
  else if constexpr (std::same_as<T, TensorList>) return l;
  else
    return
        [&]<std::size_t... I>(std::index_sequence<I...>) { return T(l[I]...); }(std::make_index_sequence<std::tuple_size_v<T>>());
}

}  // namespace detail

// A function of tensors, one argument each, whose arguments have types (no `auto`).
template <class F>
concept OfTensors = requires { requires detail::ShapeOfCall<std::decay_t<F>>::of_tensors; };
template <OfTensors F>
using ResultOf = typename detail::ShapeOfCall<std::decay_t<F>>::Result;
template <OfTensors F>
inline constexpr std::size_t kArgumentsOf = detail::ShapeOfCall<std::decay_t<F>>::count;

// The same function over lists.
template <OfTensors F>
TensorFunction over_lists(F f) {
  return [f = std::move(f)](const TensorList& in) mutable {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return detail::listed(f(in.at(I)...));
    }(std::make_index_sequence<kArgumentsOf<F>>());
  };
}

template <class Result, std::size_t Count>
class TensorCall {
 public:
  explicit TensorCall(TensorFunction f) : f_(std::move(f)) {}
  template <class... A>
    requires(sizeof...(A) == Count && (std::convertible_to<const A&, Tensor> && ...))
  Result operator()(const A&... tensors) const {
    return detail::unlisted<Result>(f_(TensorList{tensors...}));
  }

 private:
  TensorFunction f_;
};

}  // namespace ingot
