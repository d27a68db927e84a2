// Constants as listings write them: numbers, strings, None, True, torch.float32,
// device(type='cpu'). Both directions.
#pragma once
#include <optional>

#include "op/text_cursor.hpp"

namespace ingot {

// The constant that begins here, no list; nothing, with the cursor where it was, where a name or a
// sign begins that is none. User error where one begins that does not end well.
std::optional<Value> accept_constant(TextCursor& in);

// A constant, lists of them too, as it stands in the text: reads back as the same value. No
// tensors.
std::string constant_text(const Value& v);

}  // namespace ingot
