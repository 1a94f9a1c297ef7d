// The addresses of many tensors in one call: the loop around torch's own function, with no Python in between.
//
// It needs no headers of Python's or torch's, only what is declared here.

#include <cstddef>
#include <cstdint>

struct _object;  // Python's name for PyObject

extern "C" {

// Part of Python's stable ABI. The item is borrowed; null, with a Python error, where there is none.
_object* PyTuple_GetItem(_object* tuple, std::ptrdiff_t place);

// What torch exports for compiled code of its own. Throws for an object that has no address.
using DataPtr = void* (*)(_object* tensor);

// Writes the addresses of `count` tensors. Gives 0 where one cannot be read, else 1.
int dlrmc_read_addresses(DataPtr data_ptr, _object* tensors, std::ptrdiff_t count, std::uint64_t* addresses) {
    try {
        for (std::ptrdiff_t place = 0; place < count; ++place) {
            _object* tensor = PyTuple_GetItem(tensors, place);
            if (tensor == nullptr) return 0;
            addresses[place] = reinterpret_cast<std::uintptr_t>(data_ptr(tensor));
        }
    } catch (...) {
        return 0;
    }
    return 1;
}

}  // extern "C"
