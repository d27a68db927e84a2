#include "aot/boxed.hpp"

namespace ingot::aot {

Boxed make_boxed(std::function<Values(const Values&)> f) {
  return [f = std::move(f)](Values& arguments) {
    const Values taken = std::move(arguments);
    arguments.clear();
    return f(taken);
  };
}

Boxed make_boxed(std::function<Tensor(const Values&)> f) {
  return make_boxed([f = std::move(f)](const Values& arguments) { return Values{f(arguments)}; });
}

}  // namespace ingot::aot
