// Functional tensors: what makes a program with views and in-place writes a program of values.
//
// A functional tensor holds a value one layer down, and stands on a functional storage that it
// shares with its aliases. A write replaces the value and queues the update on the storage; an
// alias that is older than the storage is stale until its next use, when the queued updates are put
// into the base through the inverse views, and its value is made again by taking its views of the
// base (R049, R050 of the specification).
#pragma once
#include <functional>
#include <memory>
#include <span>

#include "autograd/meta.hpp"
#include "op/source_note.hpp"

namespace ingot {

struct FunctionalStorage final : Counted {
  Tensor base;  // the value of the whole storage before the queued updates
  struct Update {
    Tensor value;
    std::vector<ViewStep> chain;  // the views of the base that `value` replaces
    Ref<SourceNote> source;       // where the write was written, whoever reads first what it made of the base
  };
  std::vector<Update> updates;
  uint32_t generation = 0;         // counts updates
  uint32_t mutations = 0;          // writes by the program, never regeneration (R057)
  // Counts what makes the tape's views stale: writes, and in-place views of any tensor on it.
  // Storages that are one in the program as written have one counter.
  std::shared_ptr<uint32_t> version = std::make_shared<uint32_t>(0);
  uint32_t mutations_no_grad = 0;  // of them with grad mode off, or in inference mode
  uint32_t mutations_hidden = 0;  // of the others: that autograd does not hear of (ingot/unseen_writes.hpp)
  // Views of the base hold it: somebody does while it has more than one owner.
  std::shared_ptr<const char> views = std::make_shared<const char>();
  bool frozen = false;  // set_ took the tensor away, or export froze it: a later write is an error
  std::optional<Int> bytes;  // what resize_storage_bytes_ made its size
  // The size that whoever ends the program is still to give it: a resize after a write is done to
  // no value of the program, since none is the tensor's own any more.
  std::optional<Int> bytes_to_give() const { return mutations > 0 ? bytes : std::nullopt; }
  // How the base lies in its storage in the program as written, which is what as_strided refers to
  // and what the strides of results follow from. The value that a write left may lie otherwise; it
  // is laid out again for those who need it.
  Geometry layout;
  bool whole = false;  // it is all of the storage
  bool referred_to = false;  // by a view that counts from the beginning of the storage
  bool alone = false;  // the rest of the storage is written by somebody else meanwhile: nobody may look at it
  Tensor first;  // where it is not: the base before any write, whose storage has the other elements
  void set_base(const Tensor& value, const Geometry& as_written);
  int region;  // how many functions of higher-order ops were running when it was made
  FunctionalStorage();

  // User error in a function of a higher-order op that brought the storage along: it may not change
  // what stands on it.
  void require_own_region() const;
  // User error for a write through this view by places in the storage where it may reach other
  // elements than the base's.
  void require_own_elements(const Geometry& view) const;
  void add_update(Tensor value, std::vector<ViewStep> chain);
  void apply_updates();
  // Gives the base the strides it had at first, and makes every alias stale: views that needed a
  // copy are views of it again.
  void restore_layout();
  // What a step makes of `value`, which the steps of `before` made of the base.
  Tensor view(const ViewStep& s, const Tensor& value, std::span<const ViewStep> before);

 private:
  Tensor written_through_overlap(const Update& u, const TensorList& bases);
  Tensor laid_out();  // the base where as_strided finds every element of the storage at its place
};

// Gives the storage of `t`, which `s` stands for or which takes its place, its size at last.
// Whether there are bytes to copy to.
bool give_bytes(const FunctionalStorage& s, const Tensor& t);

struct FunctionalState final : SpecialState {
  Tensor value;  // never functional, never with autograd state; its strides may be others than the functional tensor's
  Ref<FunctionalStorage> storage;
  std::vector<ViewStep> chain;  // from the storage's base to here
  std::shared_ptr<const char> is_view;  // of the storage: FunctionalStorage::views
  std::vector<uint32_t> made_at;  // of each step: the storage's version when the view was taken
  void add_step(ViewStep step);
  std::size_t older_steps() const;  // that were taken before the last write on the storage
  uint32_t generation = 0;  // of the storage when `value` was made. A fresh view starts at 0, whatever its storage is at
  bool multi_output = false;  // one of several results of a view op is on the way from the base
  bool metadata_mutated = false;  // an in-place view op or a resize changed what the tensor looks like
  bool left_elements = false;  // by such an op it left elements behind that had been written, or that another tensor may write
  bool storage_changed = false;  // set_ gave it another storage
  bool copied = false;  // `value` is no view of the base: the base has strides of which the views cannot be taken

  std::unique_ptr<SpecialState> clone() const override { return std::make_unique<FunctionalState>(*this); }
};

// Null for a tensor that is not functional.
FunctionalState* functional_state(const Tensor& t);

// From now on the value lies as the tensor does in the program as written.
void lay_as_written(const Tensor& t);

// A functional tensor on a storage of its own whose base is `value`. In the program as written it
// lies as `as_written` says.
Tensor functional_result(const Tensor& value, const Geometry& as_written);
Tensor to_functional(const Tensor& value);
// Puts a functional tensor, which is a copy of one that is part of a storage, into its place there:
// what refers to the storage finds the copy, and around it the elements that the other has around
// it.
void take_place(const Tensor& copy, const Tensor& of);
// Both lie on one storage in the program as written, and have storages of their own here because no
// write of one is seen by the other: what makes views of one stale does so to the views of the
// other.
void get_stale_together(const Tensor& t, const Tensor& other);
// Another functional tensor on the storage of `base`: what the views of `chain` make of it. Its
// value is `value`.
Tensor functional_view(const Tensor& base, const Tensor& value, ViewStep step, const Geometry& as_written);
// Whether every element that the view has is one of the tensor on the same storage, as far as it is
// easily seen.
bool looks_within(const Geometry& view, const Geometry& tensor);
// Whether the value has other strides than the tensor has in the program as written.
bool lies_otherwise(const Tensor& t);
// Results that share a storage are views of one base, as they are in the program as written: where
// one of them needed a copy, the base is laid out anew. `is_left_out`: those whose storage is
// somebody else's.
void keep_aliases(const TensorList& results, const std::function<bool(const FunctionalState&)>& is_left_out);
// Brings the value up to date.
void sync(const Tensor& t);
// The value, up to date; a tensor that is not functional is its own value.
Tensor from_functional(const Tensor& t);

// inner_tensor (wrapper.hpp) for a program that may be functionalized: the inner tensor of a
// functional tensor's value, functional on a storage of its own, so that no write to it reaches the
// wrapper.
Tensor inner_tensor_of(const Tensor& t, std::string_view name);

// The views of the chain, taken of `base`. The tape makes the history of a view that is older than
// a write again from the base; a newer one has that of the views it was taken of.
Tensor take_views(const Tensor& base, const std::vector<ViewStep>& chain, std::size_t older);

// Makes every call on this thread functionalize, also those without a functional argument:
// factories make functional tensors.
// `exporting`: for export (R058, R059); a scope inside another is for what that one is for.
class FunctionalizeScope {
 public:
  explicit FunctionalizeScope(bool exporting = thread_state().exporting);
  ~FunctionalizeScope();
  FunctionalizeScope(const FunctionalizeScope&) = delete;
  FunctionalizeScope& operator=(const FunctionalizeScope&) = delete;

 private:
  uint8_t old_;
  Scoped<bool> exporting_;
};

// A function of a higher-order op, functionalized on its own: it takes and returns plain values.
// User errors where it writes an operand or something it brings along, or returns an operand or a
// view of one: which call runs it is not known, so there is nobody to write back.
Value functionalized_function(const Op& op, const Value& f);

}  // namespace ingot
