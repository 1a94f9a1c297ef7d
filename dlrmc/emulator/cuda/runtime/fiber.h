// One fiber for each thread of a block: a stack of its own, and a switch that costs a few nanoseconds.
//
// swapcontext saves the signal mask with two system calls a switch, ten times the cost of the rest; so on
// x86-64 the switch is written here, and ucontext serves other processors (and anyone who defines
// DLRMC_EMULATOR_UCONTEXT).
#ifndef DLRMC_EMULATOR_RUNTIME_FIBER_H
#define DLRMC_EMULATOR_RUNTIME_FIBER_H

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#if !defined(__x86_64__) && !defined(DLRMC_EMULATOR_UCONTEXT)
#define DLRMC_EMULATOR_UCONTEXT 1
#endif
#ifdef DLRMC_EMULATOR_UCONTEXT
#include <ucontext.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define DLRMC_EMULATOR_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DLRMC_EMULATOR_ASAN 1
#endif
#endif
#ifdef DLRMC_EMULATOR_ASAN
// From <sanitizer/asan_interface.h> and <sanitizer/common_interface_defs.h>, which not every package of a
// compiler has.
extern "C" void __asan_poison_memory_region(const volatile void* address, std::size_t size);
extern "C" void __asan_unpoison_memory_region(const volatile void* address, std::size_t size);
extern "C" void __sanitizer_start_switch_fiber(void** save, const void* bottom, std::size_t size);
extern "C" void __sanitizer_finish_switch_fiber(void* saved, const void** bottom_before,
                                                std::size_t* size_before);
#define DLRMC_NO_ASAN __attribute__((no_sanitize_address, noinline))
#else
#define DLRMC_NO_ASAN __attribute__((noinline))
#endif

namespace dlrmc_emulator {

#ifdef DLRMC_EMULATOR_ASAN
constexpr std::size_t stack_bytes = 512 * 1024;  // frames with red zones are several times larger
#else
constexpr std::size_t stack_bytes = 128 * 1024;
#endif

struct Fiber {
#ifdef DLRMC_EMULATOR_UCONTEXT
    ucontext_t context;
#else
    void* stack_pointer;
#endif
    char* stack;  // the lowest address
    std::size_t size;
    void* sanitizer_stack;
};

#ifndef DLRMC_EMULATOR_UCONTEXT
// Saves what the System V ABI lets a callee keep, swaps stacks, restores. The floating-point control words
// are one launch's, so they stay.
extern "C" void dlrmc_emulator_switch(void** save, void* load);
asm(R"(
    .text
    .p2align 4
    .hidden dlrmc_emulator_switch
    .globl dlrmc_emulator_switch
    .type dlrmc_emulator_switch, @function
dlrmc_emulator_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size dlrmc_emulator_switch, .-dlrmc_emulator_switch
    .section .note.GNU-stack,"",@progbits
    .text
)");
#endif

// Makes the fiber start at `entry` (which must not return) on its next turn. `number` staggers the first
// frames, lest the same locals of all fibers fall into the same sets of the data cache.
inline void prepare(Fiber& fiber, void (*entry)(), unsigned number) {
    char* top = fiber.stack + fiber.size - (number % 32) * 128;
#ifdef DLRMC_EMULATOR_UCONTEXT
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack;
    fiber.context.uc_stack.ss_size = static_cast<std::size_t>(top - fiber.stack);
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, entry, 0);
#else
    // From the top: a null return address for `entry`, which also gives it the alignment of a called
    // function; `entry` itself, where the switch returns to; six registers.
    auto** frame = reinterpret_cast<void**>(top) - 8;
    for (int i = 0; i < 8; ++i)
        frame[i] = nullptr;
    frame[6] = reinterpret_cast<void*>(entry);
    fiber.stack_pointer = frame;
#endif
    fiber.sanitizer_stack = nullptr;
}

// Goes on with `to`; returns when somebody switches back. A fiber that `leaves` never comes back.
DLRMC_NO_ASAN inline void switch_fiber(Fiber& from, Fiber& to, [[maybe_unused]] bool leaves) {
#ifdef DLRMC_EMULATOR_ASAN
    __sanitizer_start_switch_fiber(leaves ? nullptr : &from.sanitizer_stack, to.stack, to.size);
#endif
#ifdef DLRMC_EMULATOR_UCONTEXT
    swapcontext(&from.context, &to.context);
#else
    dlrmc_emulator_switch(&from.stack_pointer, to.stack_pointer);
#endif
#ifdef DLRMC_EMULATOR_ASAN
    __sanitizer_finish_switch_fiber(from.sanitizer_stack, nullptr, nullptr);
#endif
}

// The first thing that a fiber does.
DLRMC_NO_ASAN inline void arrive_on_new_stack() {
#ifdef DLRMC_EMULATOR_ASAN
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

// A fiber abandoned by a failed launch leaves the red zones of its frames behind.
inline void forget_frames([[maybe_unused]] Fiber& fiber) {
#ifdef DLRMC_EMULATOR_ASAN
    __asan_unpoison_memory_region(fiber.stack, fiber.size);
#endif
}

// Bytes from one stack to the next: each lies above a page that nobody may touch.
inline std::size_t stack_stride() {
    return stack_bytes + static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Stacks for `count` fibers, kept for the life of the process; null where there is no memory. Pages are taken
// only as they are touched.
inline char* allocate_stacks(int count) {
    const std::size_t stride = stack_stride();
    void* region = mmap(nullptr, stride * static_cast<std::size_t>(count), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) return nullptr;
    auto* stacks = static_cast<char*>(region);
    for (int i = 0; i < count; ++i) {
        if (mprotect(stacks + stride * static_cast<std::size_t>(i), stride - stack_bytes, PROT_NONE) != 0)
            return nullptr;
    }
    return stacks;
}

inline void give_stack(Fiber& fiber, char* stacks, int number) {
    const std::size_t stride = stack_stride();
    fiber.stack = stacks + stride * static_cast<std::size_t>(number) + (stride - stack_bytes);
    fiber.size = stack_bytes;
    forget_frames(fiber);
}

// Notes where the calling OS thread's own stack lies, for the sanitizer.
inline void adopt_current_stack([[maybe_unused]] Fiber& fiber) {
#ifdef DLRMC_EMULATOR_ASAN
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
    void* lowest = nullptr;
    pthread_attr_getstack(&attributes, &lowest, &fiber.size);
    fiber.stack = static_cast<char*>(lowest);
    pthread_attr_destroy(&attributes);
#endif
}

}  // namespace dlrmc_emulator

#endif  // DLRMC_EMULATOR_RUNTIME_FIBER_H
