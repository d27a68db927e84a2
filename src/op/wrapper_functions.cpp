#include "op/wrapper_functions.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "op/wrapper_layout.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

// How each value of a list is made of plain tensors; none of one that is no tensor.
using ListLayout = std::vector<std::optional<WrapperLayout>>;

ListLayout layout_of_list(const Values& l) {
  ListLayout r;
  for (const Value& v : l) r.push_back(v.is_tensor() ? std::optional(layout_of(v.tensor())) : std::nullopt);
  return r;
}
Values taken_apart_list(const Values& l) {
  Values r;
  for (const Value& v : l) {
    if (!v.is_tensor()) {
      r.push_back(v);
      continue;
    }
    for (const Tensor& t : flatten_wrappers({v.tensor()}).leaves) r.emplace_back(t);
  }
  return r;
}
Values put_together(const ListLayout& layout, Args leaves) {
  std::vector<WrapperLayout> tensors;
  TensorList plain;
  std::size_t next = 0;
  const auto leaf = [&]() -> const Value& {
    INGOT_ENSURE(next < leaves.size(), "a function of wrappers has ", leaves.size(), " plain values, which are too few");
    return leaves[next++];
  };
  Values r;
  for (const auto& l : layout) {
    if (!l) {
      r.push_back(leaf());
      continue;
    }
    r.emplace_back();
    tensors.push_back(*l);
    for (std::size_t n = l->leaves(); n > 0; n--) plain.push_back(leaf().tensor());
  }
  INGOT_ENSURE(next == leaves.size(), "a function of wrappers has ", leaves.size(), " plain values and uses ", next);
  const TensorList made = unflatten_wrappers(tensors, plain);
  std::size_t used = 0;
  for (std::size_t k = 0; k < layout.size(); k++)
    if (layout[k]) r[k] = made[used++];
  return r;
}

bool is_list(const Value& v) { return v.is_tensors() || v.is_values(); }

// In PyTorch's words, which has control flow of plain tensors alone.
[[noreturn]] void no_rule(const Op& op, const std::string& cls, const std::string& why) {
  throw_user_error(text("There was no rule registered for HOP ", op.schema.name, " and subclass ", cls, ": ", why));
}
void refuse_condition(const Op& op, const Value& v) {
  if (!v.is_tensor()) return;
  if (const WrapperState* s = wrapper_state(v.tensor()))
    no_rule(op, s->cls->name(),
            "its condition is one, and a graph asks no class for a bool. Make the condition of plain tensors");
}

// Values that stand in for each other at run time are of the same classes.
void require_same_classes(const Op& op, const ListLayout& a, const ListLayout& b, std::string_view what_a,
                          std::string_view what_b) {
  for (std::size_t k = 0; k < std::min(a.size(), b.size()); k++)
    if (a[k] && b[k] && !same_metadata(*a[k], *b[k]))
      no_rule(op, (a[k]->cls ? a[k] : b[k])->cls->name(),
              text("value ", k, " is ", *a[k], " of ", what_a, " and ", *b[k], " of ", what_b,
                   ", so that its class would depend on data. Let both return the same"));
}

// Rows of a wrapper have to be made of rows of what it is made of: the op goes along these.
void require_rows_of_leaves(const Op& op, const CallingConvention& convention, Args flat, const Values& operands) {
  const Scoped<Layer> kernel(thread_state().layer, Layer::kernel);
  const Values want = taken_apart_list(operands), found = convention.operands({op, flat}, 0);
  const bool same = std::equal(want.begin(), want.end(), found.begin(), found.end(), [](const Value& x, const Value& y) {
    return x.is_tensor() == y.is_tensor() && (!x.is_tensor() || x.tensor().sizes().same(y.tensor().sizes()));
  });
  if (same) return;
  std::string cls;
  for (const Value& v : operands)
    if (v.is_tensor() && wrapper_state(v.tensor())) cls = wrapper_state(v.tensor())->cls->name();
  no_rule(op, cls, "its rows are not made of rows of its inner tensors. Go along plain tensors");
}

WrapperLayout stacked(WrapperLayout row, const Int& rows) {
  row.sizes.insert(0, rows);
  row.strides = contiguous_strides(row.sizes);
  for (WrapperLayout& i : row.inner) i = stacked(std::move(i), rows);
  return row;
}

// The results of the call, given the layouts of what its function returned: rows of the results, or
// the first `carried` of them as they are.
ListLayout result_layout(const ListLayout& returned, std::size_t carried, const Values& leaves) {
  ListLayout r;
  std::size_t next = 0;
  for (std::size_t k = 0; k < returned.size(); k++) {
    const auto& l = returned[k];
    const bool whole = k < carried || !l || !l->cls;
    r.push_back(whole ? l : stacked(*l, leaves.at(next).tensor().size(0)));
    next += l ? l->leaves() : 1;
  }
  return r;
}

}  // namespace

Value call_on_plain_tensors(const Op& op, Args args, const CallingConvention& convention) {
  const Control control = convention.control;
  Values operands;
  {
    const ThreadState& ts = thread_state();
    const Scoped<uint8_t> untraced(thread_state().active, static_cast<uint8_t>(ts.active & ~layer_bit(Layer::trace)));
    operands = convention.operands({op, args}, 0);
  }
  Values flat;
  std::optional<std::size_t> first_list;
  for (const Value& v : args) {
    if (v.is_tensor()) refuse_condition(op, v);
    if (is_list(v) && !first_list) first_list = list_elements(v).size();
    flat.push_back(is_list(v) ? list_value(taken_apart_list(list_elements(v))) : v);
  }
  require_rows_of_leaves(op, convention, flat, operands);
  // What is carried from one run of a function to the next comes first among the operands.
  const std::size_t carried = control == Control::carry_rows ? first_list.value_or(0) : 0;
  const ListLayout layout = layout_of_list(operands);
  const auto returned = std::make_shared<std::vector<ListLayout>>(convention.functions.size());
  std::size_t number = 0;
  for (Value& v : flat) {
    if (!v.is_function()) continue;
    v = make_function([&op, control, carried, layout, returned, number, f = v](Args leaves) {
      const Scoped<Layer> here(thread_state().layer, std::min(thread_state().layer, Layer::wrapper));
      const Values results = f.function()(put_together(layout, leaves));
      const ListLayout found = layout_of_list(results);
      if (control == Control::repeat && number == 0)
        for (const Value& r : results) refuse_condition(op, r);
      else if (control == Control::repeat || control == Control::carry_rows)
        require_same_classes(
            op,
            {layout.begin(), control == Control::repeat ? layout.end() : layout.begin() + static_cast<std::ptrdiff_t>(carried)},
            found, "what is carried", "the function");
      else if (number > 0) require_same_classes(op, returned->at(0), found, "the true branch", "the false branch");
      returned->at(number) = found;
      return taken_apart_list(results);
    });
    number++;
  }
  const Values leaves = list_elements(call_below(Layer::wrapper, op, flat));
  const bool rows = control == Control::carry_rows || control == Control::each_row || control == Control::combine;
  const ListLayout& last = returned->back();
  return list_value(put_together(rows ? result_layout(last, carried, leaves) : last, leaves));
}

}  // namespace ingot
