/* Bun has threads from the start and cannot be forked, so every sandbox executes its own. This module is
 * preloaded into it. It does the second part of the lock-down before Bun's first instruction, while there is
 * one thread, and the last part when Bun has started. No input of the guest is read before that. A sandbox
 * has no /proc, where the C library finds the stack of the first thread and without which Bun exits; this
 * module answers that query instead. */
#undef _FILE_OFFSET_BITS /* otherwise the function fopen below would be named fopen64 */
#include "sandbox/confine.h"
#include "sandbox/exec.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_MAX (8u << 20)
#define PAGE 4096u

/* The kernel puts the program's path at the top of the stack, below eight zero bytes. */
static int first_stack(pthread_attr_t *attributes) {
    const char *path = (const char *)(uintptr_t)getauxval(AT_EXECFN);
    struct rlimit may;
    if (!path || getrlimit(RLIMIT_STACK, &may) != 0)
        return -1;
    const uintptr_t top = ((uintptr_t)path + strlen(path) + 1 + 8 + PAGE - 1) / PAGE * PAGE;
    const size_t size = may.rlim_cur > STACK_MAX ? STACK_MAX : (size_t)may.rlim_cur;
    pthread_attr_init(attributes);
    return pthread_attr_setstack(attributes, (void *)(top - size), size);
}

__attribute__((visibility("default"))) int pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes) {
    if (pthread_equal(thread, pthread_self()) && syscall(SYS_gettid) == getpid())
        return first_stack(attributes);
    int (*const real)(pthread_t, pthread_attr_t *) =
        (int (*)(pthread_t, pthread_attr_t *))(uintptr_t)dlsym(RTLD_NEXT, "pthread_getattr_np");
    return real(thread, attributes);
}

/* Bun polls its own size in /proc and accepts a failure. Failing here avoids reports of violations that the
 * guest did not cause. */
__attribute__((visibility("default"))) FILE *fopen(const char *path, const char *mode) {
    if (strncmp(path, "/proc/", 6) == 0)
        return errno = ENOENT, NULL;
    FILE *(*const real)(const char *, const char *) =
        (FILE * (*)(const char *, const char *))(uintptr_t)dlsym(RTLD_NEXT, "fopen");
    return real(path, mode);
}

/* Node loads this module too, but it preloads only programs.c; and Bun's trial run is not a sandbox. */
__attribute__((constructor)) static void loaded(void) {
    static struct confine_setup setup;
    const char *preload = getenv("LD_PRELOAD");
    if (preload && strstr(preload, "sallyport-node.so") && !getenv(EXEC_TRIAL))
        confine_after_exec(&setup);
}
