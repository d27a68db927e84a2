#include "model/host.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "model/error.hpp"

namespace ingot::model {
namespace {

pthread_once_t found = PTHREAD_ONCE_INIT;
Host the_host;

template <class Function>
bool look_up(void* scope, const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(scope, name));
  return *function != nullptr;
}

// The code that the host's function `name` returns; -1 where it has none.
int32_t code_of(void* scope, const char* name) {
  int32_t (*function)() = nullptr;
  return look_up(scope, name, &function) ? function() : -1;
}

// operator new and delete of the host, by their names in the Itanium ABI, found as its own calls
// are bound: those that a program has instead of the C++ library's come first. A C++ library that
// is out of reach is over malloc and free.
void find_allocator(void* scope, Host& h) {
  void* const scopes[] = {RTLD_DEFAULT, scope};
  for (void* from : scopes)
    if (look_up(from, "_Znwm", &h.allocate) && look_up(from, "_ZdlPv", &h.release)) return;
  h.allocate = malloc;
  h.release = free;
}

bool take_from(void* scope, Host& h) {
#define INGOT_HOST_LOOK_UP(name) \
  if (!look_up(scope, "aoti_torch_" #name, &h.name)) return false;
  INGOT_HOST_FUNCTIONS(INGOT_HOST_LOOK_UP)
#undef INGOT_HOST_LOOK_UP
  if (!look_up(scope, "aoti_torch_new_tensor_handle", &h.new_tensor_handle) &&
      !look_up(scope, "aoti_torch_assign_tensors_out", &h.new_tensor_handle))
    return false;
  look_up(scope, "aoti_torch_get_layout", &h.get_layout);
  h.is_own = false;
  h.cpu = h.device_type_cpu();
  h.strided = code_of(scope, "aoti_torch_layout_strided");
  for (int32_t& code : h.dtypes) code = -1;
#define INGOT_HOST_DTYPE(name, code, size) h.dtypes[code] = code_of(scope, "aoti_torch_dtype_" #name);
  INGOT_DTYPES(INGOT_HOST_DTYPE)
#undef INGOT_HOST_DTYPE
  find_allocator(scope, h);
  return true;
}

// The names of all that the process has loaded, each ended by a zero.
struct Names {
  ~Names() { free(text); }
  char* text = nullptr;
  size_t used = 0;
};

int add_name(dl_phdr_info* object, size_t, void* context) {
  Names& names = *static_cast<Names*>(context);
  const size_t length = strlen(object->dlpi_name) + 1;
  if (length == 1) return 0;  // the program itself, which is in the global scope
  auto* longer = static_cast<char*>(realloc(names.text, names.used + length));
  if (!longer) return 1;
  memcpy(longer + names.used, object->dlpi_name, length);
  names.text = longer;
  names.used += length;
  return 0;
}

// Whoever has the functions is the host, whatever its file is called: distributions give libtorch a
// name with its version.
bool take_from_any_loaded(Host& h) {
  Names names;
  dl_iterate_phdr(add_name, &names);
  for (size_t at = 0; at < names.used; at += strlen(names.text + at) + 1) {
    // RTLD_NOLOAD: nothing is loaded, a library that is there already is found by its name. The
    // host is never given back: tensors of it may outlive this library.
    void* library = dlopen(names.text + at, RTLD_LAZY | RTLD_NOLOAD);
    if (library && take_from(library, h)) return true;
    if (library) dlclose(library);
  }
  return false;
}

void find_host() {
  if (take_from(RTLD_DEFAULT, the_host) || take_from_any_loaded(the_host)) return;
  the_host = fallback_host;
  find_allocator(RTLD_DEFAULT, the_host);
}

}  // namespace

const Host& host() {
  pthread_once(&found, find_host);
  return the_host;
}

int32_t dtype_from_host(int32_t code) {
  const Host& h = host();
  for (int32_t dtype = 0; dtype < kDtypeCodes; dtype++) {
    if (h.dtypes[dtype] == code && code >= 0) return dtype;
  }
  return -1;
}

bool view_tensor(AtenTensorHandle tensor, const char* what, ingot_view* view, int32_t* device_type) {
  const Host& h = host();
  if (!tensor) return fail("%s: expected a tensor, found null", what);
  int64_t rank = 0;
  int64_t *sizes = nullptr, *strides = nullptr;
  int32_t dtype = -1, layout = h.strided;
  bool known = h.get_dtype(tensor, &dtype) == 0 && h.get_device_type(tensor, device_type) == 0;
  known = known && (!h.get_layout || h.get_layout(tensor, &layout) == 0);
  if (known && layout != h.strided)
    return fail("%s: layout: expected a strided tensor, found the host's layout %d", what, layout);
  known = known && h.get_dim(tensor, &rank) == 0 && h.get_sizes(tensor, &sizes) == 0 && h.get_strides(tensor, &strides) == 0;
  known = known && h.get_data_ptr(tensor, &view->data) == 0;
  if (!known && h.is_own) {
    return fail(
        "%s: expected a tensor of this library (ingot_tensor_from_memory makes them), found a handle of somebody else, whose aoti_torch "
        "functions are nowhere in this process",
        what);
  }
  if (!known) return fail("%s: expected a tensor, found a handle that its host cannot describe (an undefined tensor?)", what);
  view->sizes = sizes;
  view->strides = strides;
  view->rank = static_cast<int32_t>(rank);
  view->dtype = dtype_from_host(dtype);
  return true;
}

}  // namespace ingot::model
