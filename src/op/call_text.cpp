#include "op/call_text.hpp"
#include "base/error.hpp"
namespace ingot { CallText text_of(const Call& call) { throw_user_error(call.op.qualified() + " eager: not merged"); } }
