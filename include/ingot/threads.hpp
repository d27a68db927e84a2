// How many threads eager ops, the compiler and what is compiled in this process share. Results do
// not depend on it, to the bit. Any thread may ask and set it.
#pragma once

namespace ingot {

int num_threads();  // INGOT_NUM_THREADS (user error where that is no number from 1), else the cores this process may use
void set_num_threads(int n);  // at least 1

}  // namespace ingot
