// The tensor functions of ingot/model.h for a library that does not have them, over the host
// functions of the process (ingot/aoti_host.h). They fail where the process has none.
#pragma once
#include "ingot/model.h"

namespace ingot::host_tensors {

AOTIRuntimeError from_memory(void* data, int32_t dtype, int32_t rank, const int64_t* sizes, const int64_t* strides,
                             AtenTensorHandle* tensor);
AOTIRuntimeError describe(AtenTensorHandle tensor, ingot_tensor_info* info);
AOTIRuntimeError release(AtenTensorHandle tensor);
// A second handle to the same tensor.
AOTIRuntimeError share(AtenTensorHandle tensor, AtenTensorHandle* copy);

}  // namespace ingot::host_tensors
