#include "state/eras.h"

#include "base/buf.h"
#include "base/hex.h"
#include "base/mem.h"
#include "io/file.h"
#include "state/limits.h"

#include <stdio.h>

#define MARK "sallyport eras "
#define FORMAT "1"
#define LINE_MAX_BYTES (2 * STATE_ERA_KEY + 22)
#define FILE_MAX_BYTES (64 + STATE_ERAS_MAX * LINE_MAX_BYTES)

/* The lines after the first one; none for a missing or foreign file. */
static struct slice eras_read(const char *path, struct buf *out, bool *ret_newer) {
    struct slice head, rest;
    buf_init(out, FILE_MAX_BYTES);
    *ret_newer = false;
    if (io_file_read(path, out, NULL, NULL) < 0)
        return (struct slice){0};
    rest = buf_slice(out);
    if (!slice_cut(&rest, '\n', &head) || slice_eq(head, SLICE(MARK FORMAT)))
        return rest;
    *ret_newer = slice_starts(head, SLICE(MARK));
    return (struct slice){0};
}

/* The next valid line. */
static bool eras_next(struct slice *rest, uint64_t now_ms, unsigned char ret_key[STATE_ERA_KEY],
                      uint64_t *ret_until_ms) {
    for (struct slice line, key; slice_cut(rest, '\n', &line);) {
        bool sound = slice_cut(&line, ' ', &key) && hex_get(key, ret_key, STATE_ERA_KEY) &&
                     slice_to_u64(line, ret_until_ms);
        /* A line that would be valid for too long was written under another clock. */
        if (sound && *ret_until_ms > now_ms && *ret_until_ms - now_ms <= STATE_ERA_MS)
            return true;
    }
    return false;
}

bool state_eras_legacy(const char *home, const unsigned char key[STATE_ERA_KEY], uint64_t now_ms,
                       uint64_t *ret_until_ms) {
    cleanup_free char *path = NULL;
    cleanup_buf struct buf text;
    unsigned char found[STATE_ERA_KEY];
    uint64_t until_ms;
    bool newer;
    buf_init(&text, 0);
    if (asprintf(&path, "%s/eras", home) < 0)
        return false;
    struct slice rest = eras_read(path, &text, &newer);
    while (eras_next(&rest, now_ms, found, &until_ms))
        if (memcmp(found, key, STATE_ERA_KEY) == 0) {
            *ret_until_ms = until_ms;
            return true;
        }
    return false;
}

static void eras_put(struct buf *out, const unsigned char key[STATE_ERA_KEY], uint64_t until_ms) {
    char digits[2 * STATE_ERA_KEY + 1];
    hex_str(key, STATE_ERA_KEY, digits);
    buf_printf(out, "%s %llu\n", digits, (unsigned long long)until_ms);
}

void state_eras_note(const char *home, const unsigned char key[STATE_ERA_KEY], bool legacy, uint64_t now_ms) {
    cleanup_free char *path = NULL;
    cleanup_buf struct buf old, text;
    unsigned char found[STATE_ERA_KEY];
    uint64_t until_ms;
    size_t count = legacy;
    bool newer, known = false;
    buf_init(&old, 0);
    buf_init(&text, FILE_MAX_BYTES);
    if (asprintf(&path, "%s/eras", home) < 0)
        return;
    struct slice rest = eras_read(path, &old, &newer);
    buf_put_str(&text, MARK FORMAT "\n");
    if (legacy)
        eras_put(&text, key, now_ms + STATE_ERA_MS);
    while (count < STATE_ERAS_MAX && eras_next(&rest, now_ms, found, &until_ms)) {
        bool same = memcmp(found, key, STATE_ERA_KEY) == 0;
        known |= same;
        if (!same) {
            eras_put(&text, found, until_ms);
            count++;
        }
    }
    if (!newer && (legacy || known))
        io_file_post(path, buf_slice(&text), 0600, NULL);
}
