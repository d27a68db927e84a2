/* A library of operators as PyTorch's stable interface has them: stub_ops::same returns its
 * argument. */
#include "ingot/aoti_host.h"

static void same(StableIValue* stack, uint64_t arguments, uint64_t results) {
  (void)stack, (void)arguments, (void)results; /* what was given is the result */
}

static TorchLibraryHandle definitions, implementations;

__attribute__((constructor)) static void define(void) {
  if (aoti_torch_library_init_def("stub_ops", __FILE__, __LINE__, &definitions)) return;
  if (aoti_torch_library_def(definitions, "same(Tensor x) -> Tensor")) return;
  if (aoti_torch_library_init_impl("stub_ops", "CPU", __FILE__, __LINE__, &implementations)) return;
  torch_library_impl(implementations, "same", same, aoti_torch_abi_version());
}

__attribute__((destructor)) static void let_go(void) {
  if (implementations) aoti_torch_delete_library_object(implementations);
  if (definitions) aoti_torch_delete_library_object(definitions);
}
