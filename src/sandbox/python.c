/* The module that makes a stock CPython a zygote. Built without Python's headers: only symbols of the stable
 * ABI, so one file serves every version from 3.9 on. Who runs here: the zygote in serve(); after it has
 * returned, a sandbox. */
#include "sandbox/confine.h"
#include "sandbox/zygote.h"

#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct python_object PyObject;

extern int PyArg_ParseTuple(PyObject *args, const char *format, ...);
extern int PyBytes_AsStringAndSize(PyObject *bytes, char **ret_ptr, ssize_t *ret_size);
extern PyObject *PyBytes_FromStringAndSize(const char *ptr, ssize_t size);
extern char *PyBytes_AsString(PyObject *bytes);
extern void *PyEval_SaveThread(void);
extern void PyEval_RestoreThread(void *state);
extern PyObject *Py_BuildValue(const char *format, ...);
extern void *PyObject_Malloc(size_t size);
extern PyObject *PyModule_Create2(void *definition, int api);
extern PyObject *PyFloat_FromDouble(double value);
extern void PyObject_GC_UnTrack(void *object);
extern PyObject *PyList_New(ssize_t size);
extern PyObject *PyTuple_New(ssize_t size);
/* Not in the stable ABI, but present since 3.4; without it, the heap stays where Python puts it. */
struct arena_allocator {
    void *context;
    void *(*alloc)(void *context, size_t size);
    void (*release)(void *context, void *ptr, size_t size);
};
extern void PyObject_SetArenaAllocator(struct arena_allocator *) __attribute__((weak));

PyObject *PyInit__sallyport(void);

#define METH_VARARGS 1
#define STABLE_API 3

struct method {
    const char *name;
    PyObject *(*call)(PyObject *self, PyObject *args);
    int flags;
    const char *doc;
};

/* PyModuleDef in the stable ABI. */
struct definition {
    struct {
        long references;
        void *type;
        void *init;
        long index;
        void *copy;
    } base;
    const char *name;
    const char *doc;
    long size;
    const struct method *methods;
    void *slots, *traverse, *clear, *release;
};

static struct confine_setup setup;

/* ---- memory ---- Everything that is loaded is placed in one region, which can be merged into large pages:
 * see zygote_fold_memory(). The unused rest of the region is unmapped before the first fork, so that the
 * limits of children do not count it. */

#define HEAP_BYTES (256ul << 20) /* address space, not memory */
#define HEAP_ALIGN (2ul << 20)
#define PLUG_STEP 16            /* size classes of Python's allocator */
#define PLUG_MAX 512            /* larger blocks come from the C library */
#define PLUG_BYTES (16ul << 20) /* maximum for one size, if no fresh block appears */
#define PLUG_KINDS 23           /* numbers, lists, dictionaries, tuples of one to twenty */
#define PLUG_KEPT 4096          /* more than the length of Python's free lists */
#define PLUG_LIBRARY_MAX (64ul << 10)

static struct { char *first, *at, *end; } heap;

static void *heap_alloc(void *context, size_t size) {
    (void)context;
    if (size > (size_t)(heap.end - heap.at)) {
        void *more = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return more == MAP_FAILED ? NULL : more;
    }
    void *ptr = heap.at;
    heap.at += size;
    return ptr;
}

static void heap_release(void *context, void *ptr, size_t size) {
    (void)context;
    munmap(ptr, size);
}

static void heap_open(void) {
    if (!PyObject_SetArenaAllocator)
        return;
    char *room =
        mmap(NULL, HEAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return;
    heap.first = heap.at = room + (HEAP_ALIGN - (uintptr_t)room % HEAP_ALIGN) % HEAP_ALIGN;
    heap.end = room + HEAP_BYTES;
    PyObject_SetArenaAllocator(&(struct arena_allocator){NULL, heap_alloc, heap_release});
}

/* Free blocks are scattered over everything that was loaded; a child that used them would copy a page for
 * each. They are all allocated here, so new blocks of a child are adjacent. */
static void plug_blocks(const char *fresh) {
    for (size_t size = PLUG_MAX; size > 0; size -= PLUG_STEP) {
        const char *got = NULL;
        for (size_t left = PLUG_BYTES / size; left && (got < fresh || got >= heap.end); left--)
            got = PyObject_Malloc(size);
    }
}

static PyObject *object_of(int kind) {
    if (kind == 0)
        return PyFloat_FromDouble(0.5);
    PyObject *got = kind == 1   ? PyList_New(0)
                    : kind == 2 ? Py_BuildValue("{s:s}", "", "")
                                : PyTuple_New(kind - 2);
    PyObject_GC_UnTrack(got); /* hidden from gc.get_objects() */
    return got;
}

/* Empties Python's free lists. */
static void plug_objects(const char *fresh) {
    for (int kind = 0; kind < PLUG_KINDS; kind++) {
        const char *got = NULL;
        for (int left = PLUG_KEPT; left && (got < fresh || got >= heap.end); left--)
            got = (const char *)object_of(kind);
    }
}

/* Allocates all free chunks of the C library, starting with the largest. */
static void plug_library(void) {
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 33)
    const size_t unused = mallinfo2().keepcost;
#else
    const size_t unused = (size_t)mallinfo().keepcost;
#endif
    const char *const top = (const char *)sbrk(0) - unused;
    for (size_t size = PLUG_LIBRARY_MAX; size >= PLUG_STEP; size -= PLUG_STEP) {
        char *got;
        while ((got = malloc(size)) && got < top)
            ;
        free(got);
    }
#endif
}

static void heap_plug(void) {
    const char *const fresh = heap.at;
    if (heap.at == heap.first) /* Python was built with another allocator */
        return;
    plug_blocks(fresh);
    plug_objects(fresh);
    plug_library();
}

/* Starts a new large page for later allocations. */
static void heap_part(void) {
    const size_t rest = (HEAP_ALIGN - (uintptr_t)heap.at % HEAP_ALIGN) % HEAP_ALIGN;
    if (rest < (size_t)(heap.end - heap.at))
        heap.at += rest;
    heap_plug();
}

static void heap_close(void) {
    heap_part();
    if (heap.end > heap.at)
        munmap(heap.at, (size_t)(heap.end - heap.at));
    heap.end = heap.at;
}

/* ---- functions for Python ---- */

/* serve(): handles orders until the process ends; returns, with the profile's number, in each locked-down
 * child. The interpreter is not notified of the fork: it has one thread, which is also the child's, and holds
 * no lock except its own. Its hooks would copy a hundred pages into every child. */
static PyObject *serve(PyObject *self, PyObject *args) {
    (void)self, (void)args;
    struct frame_order order;
    int stdio[3];
    if (confine_read_setup(CONFINE_FD_SETUP, &setup) != 0)
        _exit(CONFINE_FAILED);
    zygote_fold_memory();
    while (zygote_next(&order, stdio)) {
        if (zygote_clone(&setup, &order, stdio) != 0)
            continue;
        confine_down(&setup, &order, stdio);
        zygote_open_loopback(&setup, &order);
        return Py_BuildValue("i", (int)order.profile);
    }
    _exit(0);
}

/* part(): everything that every run uses has been loaded; optional modules follow */
static PyObject *part(PyObject *self, PyObject *args) {
    (void)self, (void)args;
    heap_part();
    return Py_BuildValue("");
}

/* shut(): everything has been loaded */
static PyObject *shut(PyObject *self, PyObject *args) {
    (void)self, (void)args;
    heap_close();
    return Py_BuildValue("");
}

/* tell(up, text) */
static PyObject *tell(PyObject *self, PyObject *args) {
    (void)self;
    int up;
    const char *text;
    if (!PyArg_ParseTuple(args, "is", &up, &text))
        return NULL;
    zygote_notify(up ? CONFINE_NOTE_UP : CONFINE_NOTE_DOWN, text);
    return Py_BuildValue("");
}

/* wait(ms): true if code arrives within that time */
static PyObject *wait_for_code(PyObject *self, PyObject *args) {
    (void)self;
    int ms;
    if (!PyArg_ParseTuple(args, "i", &ms))
        return NULL;
    return Py_BuildValue("i", zygote_wait_for_code(ms));
}

/* limit(memory_mb, cpu_s): true if the kernel accepted it */
static PyObject *limit(PyObject *self, PyObject *args) {
    (void)self;
    int memory_mb, cpu_s;
    if (!PyArg_ParseTuple(args, "ii", &memory_mb, &cpu_s))
        return NULL;
    return Py_BuildValue("i", confine_limit((uint32_t)memory_mb, (uint32_t)cpu_s) == 0);
}

/* send(kind, id, bytes): false if it is larger than a frame */
static PyObject *send_frame(PyObject *self, PyObject *args) {
    (void)self;
    int kind;
    unsigned id;
    PyObject *bytes;
    char *body;
    ssize_t len;
    if (!PyArg_ParseTuple(args, "iIO", &kind, &id, &bytes) ||
        PyBytes_AsStringAndSize(bytes, &body, &len) != 0)
        return NULL;
    if ((size_t)len > FRAME_GUEST_MAX)
        return Py_BuildValue("i", 0);
    void *state = PyEval_SaveThread();
    zygote_send((enum frame_kind)kind, id, body, (size_t)len);
    PyEval_RestoreThread(state);
    return Py_BuildValue("i", 1);
}

/* receive(): waits for the next frame, as (kind, id, bytes). One thread at a time. */
static PyObject *receive(PyObject *self, PyObject *args) {
    (void)self, (void)args;
    struct frame_head head;
    void *state = PyEval_SaveThread();
    zygote_receive_head(&head);
    PyEval_RestoreThread(state);
    PyObject *body = PyBytes_FromStringAndSize(NULL, head.length);
    if (!body)
        return NULL;
    state = PyEval_SaveThread();
    zygote_receive(PyBytes_AsString(body), head.length);
    PyEval_RestoreThread(state);
    return Py_BuildValue("iIN", (int)head.kind, head.id, body);
}

static const struct method methods[] = {
    {"part", part, METH_VARARGS, NULL},
    {"shut", shut, METH_VARARGS, NULL},
    {"serve", serve, METH_VARARGS, NULL},
    {"tell", tell, METH_VARARGS, NULL},
    {"wait", wait_for_code, METH_VARARGS, NULL},
    {"limit", limit, METH_VARARGS, NULL},
    {"send", send_frame, METH_VARARGS, NULL},
    {"receive", receive, METH_VARARGS, NULL},
    {0},
};
static struct definition definition = {
    .base = {.references = 1}, .name = "_sallyport", .size = -1, .methods = methods};

__attribute__((visibility("default"))) PyObject *PyInit__sallyport(void) {
    heap_open();
    return PyModule_Create2(&definition, STABLE_API);
}
