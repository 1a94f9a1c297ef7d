// A bad address or an integer division by zero in a kernel becomes an error of the launch, not the end of the
// process. Under AddressSanitizer its own report is better, and is left alone.
#ifndef DLRMC_EMULATOR_RUNTIME_TRAPS_H
#define DLRMC_EMULATOR_RUNTIME_TRAPS_H

#include <csignal>

#include "state.h"

namespace dlrmc_emulator {

#ifdef DLRMC_EMULATOR_ASAN

struct TrapGuard {};

#else

constexpr int trapped_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr int trapped_count = 4;
constexpr std::size_t signal_stack_bytes = 64 * 1024;

static pthread_t launching_thread;
static struct sigaction actions_before[trapped_count];

static bool on_guard_page(const void* address) {
    const auto* byte = static_cast<const char*>(address);
    const char* lowest = current_thread().fiber.stack;
    return byte < lowest && byte >= lowest - sysconf(_SC_PAGESIZE);
}

static void pass_on(int number) {
    for (int i = 0; i < trapped_count; ++i)
        sigaction(trapped_signals[i], &actions_before[i], nullptr);
    raise(number);
}

static void handle_trap(int number, siginfo_t* info, void*) {
    if (!pthread_equal(pthread_self(), launching_thread) || machine.current < 0) {
        pass_on(number);
        return;
    }
    if (number == SIGFPE) fail_at(0, "integer division by zero, or of the lowest integer by -1");
    if (number == SIGILL)
        fail_at(0, "illegal instruction: control came to a place that the compiler held unreachable");
    if (on_guard_page(info->si_addr)) {
        fail_at(0, "stack overflow: the locals of one thread need more than %zu bytes", stack_bytes);
    }
    fail_at(0, "invalid memory access at address %p (or a misaligned vector access)", info->si_addr);
}

// Holds the signal handlers for the time of a launch. The handler leaves by switching to the host's stack, so
// the signals must not be blocked in it.
class TrapGuard {
  public:
    TrapGuard() {
        launching_thread = pthread_self();
        static char stack[signal_stack_bytes];
        stack_t alternate{};
        alternate.ss_sp = stack;
        alternate.ss_size = sizeof stack;
        sigaltstack(&alternate, &stack_before_);
        struct sigaction action{};
        action.sa_sigaction = handle_trap;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        sigemptyset(&action.sa_mask);
        for (int i = 0; i < trapped_count; ++i)
            sigaction(trapped_signals[i], &action, &actions_before[i]);
    }
    ~TrapGuard() {
        for (int i = 0; i < trapped_count; ++i)
            sigaction(trapped_signals[i], &actions_before[i], nullptr);
        sigaltstack(&stack_before_, nullptr);
    }
    TrapGuard(const TrapGuard&) = delete;
    TrapGuard& operator=(const TrapGuard&) = delete;

  private:
    stack_t stack_before_{};
};

#endif

}  // namespace dlrmc_emulator

#endif  // DLRMC_EMULATOR_RUNTIME_TRAPS_H
