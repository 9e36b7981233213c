#include "audit/shipped.h"

#include "base/arena.h"
#include "base/hex.h"
#include "base/mem.h"
#include "io/file.h"
#include "wire/emit.h"
#include "wire/tape.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define SHIPPED_BYTES_MAX 4096

static const struct {
    const char *name;
    size_t at;
} numbers[] = {
    {"chain", offsetof(struct audit_shipped, chain)},
    {"seq", offsetof(struct audit_shipped, seq)},
    {"time_ms", offsetof(struct audit_shipped, time_ms)},
    {"backlog", offsetof(struct audit_shipped, backlog)},
    {"written_ms", offsetof(struct audit_shipped, written_ms)},
};

static uint64_t *number_in(struct audit_shipped *s, size_t i) {
    return (uint64_t *)(void *)((char *)s + numbers[i].at);
}

static bool parse(struct slice text, struct audit_shipped *s) {
    cleanup_tape struct tape t;
    cleanup_arena struct arena a;
    tape_init(&t);
    arena_init(&a);
    if (tape_parse(&t, text, NULL) != TAPE_OK || !tape_is(&t, 0, TAPE_OBJECT))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        int64_t value;
        uint32_t node = tape_get_str(&t, 0, numbers[i].name);
        if (!node || !tape_int(&t, node, &value) || value < 0)
            return false;
        *number_in(s, i) = (uint64_t)value;
    }
    uint32_t log = tape_get_str(&t, 0, "log"), fault = tape_get_str(&t, 0, "fault");
    if (!log || !tape_is(&t, log, TAPE_STRING) || !hex_get(tape_text(&t, log, &a), s->log_id, CHAIN_ID))
        return false;
    if (fault && tape_is(&t, fault, TAPE_STRING))
        snprintf(s->fault, sizeof(s->fault), "%.*s", SLICE_FMT(tape_text(&t, fault, &a)));
    return true;
}

bool audit_shipped_read(const char *dir, struct audit_shipped *ret_shipped) {
    cleanup_free char *path = NULL;
    cleanup_buf struct buf text;
    buf_init(&text, SHIPPED_BYTES_MAX);
    *ret_shipped = (struct audit_shipped){0};
    if (asprintf(&path, "%s/shipped", dir) < 0 || access(path, F_OK) < 0)
        return false;
    if (io_file_read(path, &text, NULL, NULL) == 0 && parse(buf_slice(&text), ret_shipped))
        return true;
    *ret_shipped = (struct audit_shipped){0};
    return false;
}

int audit_shipped_write(const char *dir, const struct audit_shipped *shipped, struct err *err) {
    struct audit_shipped copy = *shipped;
    char log[2 * CHAIN_ID + 1];
    cleanup_free char *path = NULL;
    cleanup_buf struct buf text;
    struct emit e;
    buf_init(&text, SHIPPED_BYTES_MAX);
    emit_init(&e, &text);
    hex_str(copy.log_id, CHAIN_ID, log);
    emit_object(&e);
    emit_key(&e, "log");
    emit_cstr(&e, log);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        emit_key(&e, numbers[i].name);
        emit_int(&e, (int64_t)*number_in(&copy, i));
    }
    emit_key(&e, "fault");
    emit_cstr(&e, copy.fault);
    emit_object_end(&e);
    buf_put_char(&text, '\n');
    if (asprintf(&path, "%s/shipped", dir) < 0)
        return err_set(err, "out of memory");
    return io_file_post(path, buf_slice(&text), 0600, err);
}
