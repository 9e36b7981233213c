/* The module that makes a stock CPython a zygote. Built without Python's headers: only symbols of the stable
 * ABI, so one file serves every version from 3.9 on. Who runs here: the zygote in serve(); after it has
 * returned, a sandbox. */
#include "sandbox/lock.h"
#include "sandbox/zygote.h"

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct python_object PyObject;

extern int PyArg_ParseTuple(PyObject *args, const char *format, ...);
extern PyObject *Py_BuildValue(const char *format, ...);
extern PyObject *PyModule_Create2(void *definition, int api);

PyObject *PyInit__sallyport(void);

#define METH_VARARGS 1
#define STABLE_API 3

struct method {
    const char *name;
    PyObject *(*call)(PyObject *self, PyObject *args);
    int flags;
    const char *doc;
};

/* PyModuleDef as the stable ABI has it. */
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

static struct lock_setup setup;

/* serve(): takes orders for ever; returns, with the profile's number and whether a run waits for it, in each
 * child that is locked. The interpreter is not told about the fork: it has one thread, which is also the
 * child's, and holds no lock but its own. Its hooks would copy a hundred pages into every child to find that
 * out. */
static PyObject *serve(PyObject *self, PyObject *args) {
    (void)self, (void)args;
    struct frame_order order;
    int stdio[3];
    if (lock_read_setup(LOCK_FD_SETUP, &setup) != 0)
        _exit(LOCK_FAILED);
    while (zygote_next(&order, stdio)) {
        if (zygote_clone(&setup, &order, stdio) != 0)
            continue;
        lock_down(&setup, &order, stdio);
        return Py_BuildValue("ii", (int)order.profile, (int)order.urgent);
    }
    _exit(0);
}

/* tell(up, text) */
static PyObject *tell(PyObject *self, PyObject *args) {
    (void)self;
    int up;
    const char *text;
    if (!PyArg_ParseTuple(args, "is", &up, &text))
        return NULL;
    zygote_tell(up ? LOCK_NOTE_UP : LOCK_NOTE_DOWN, text);
    return Py_BuildValue("");
}

/* limit(memory_mb, cpu_s): true when it holds */
static PyObject *limit(PyObject *self, PyObject *args) {
    (void)self;
    int memory_mb, cpu_s;
    if (!PyArg_ParseTuple(args, "ii", &memory_mb, &cpu_s))
        return NULL;
    return Py_BuildValue("i", lock_limit(&setup, (uint32_t)memory_mb, (uint32_t)cpu_s) == 0);
}

static const struct method methods[] = {
    {"serve", serve, METH_VARARGS, NULL},
    {"tell", tell, METH_VARARGS, NULL},
    {"limit", limit, METH_VARARGS, NULL},
    {0},
};
static struct definition definition = {
    .base = {.references = 1}, .name = "_sallyport", .size = -1, .methods = methods};

__attribute__((visibility("default"))) PyObject *PyInit__sallyport(void) {
    return PyModule_Create2(&definition, STABLE_API);
}
