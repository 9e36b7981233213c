#include "frame.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FRAME_HEAD_MAX 65536
#define FRAME_BODY_MAX (256UL << 20)

struct slice frame_header(const char *base, size_t head_len, const char *name) {
    size_t name_len = strlen(name);
    const char *end = base + head_len;
    const char *line = memchr(base, '\n', head_len);
    while (line && (size_t)(end - ++line) > name_len + 1) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        if (line[name_len] == ':' && strncasecmp(line, name, name_len) == 0 && next) {
            const char *from = line + name_len + 1;
            const char *to = next;
            while (from < to && (*from == ' ' || *from == '\t'))
                from++;
            while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r'))
                to--;
            return (struct slice){from, (size_t)(to - from)};
        }
        line = next;
    }
    return (struct slice){0};
}

static bool header_says(const char *base, size_t head_len, const char *name, const char *word) {
    struct slice value = frame_header(base, head_len, name);
    return value.base && value.len == strlen(word) && strncasecmp(value.base, word, value.len) == 0;
}

static enum frame_state take_head(struct frame *frame, const char *base, size_t len) {
    const char *blank = find_bytes(base, len < FRAME_HEAD_MAX ? len : FRAME_HEAD_MAX, "\r\n\r\n");
    if (!blank)
        return len < FRAME_HEAD_MAX ? FRAME_MORE : FRAME_BAD;
    size_t head_len = (size_t)(blank - base) + 4;
    struct slice length = frame_header(base, head_len, "content-length");
    frame->chunked = header_says(base, head_len, "transfer-encoding", "chunked");
    frame->close = header_says(base, head_len, "connection", "close");
    frame->body_len = length.base ? strtoull(length.base, NULL, 10) : 0; /* ends at CR at the latest */
    if (frame->body_len > FRAME_BODY_MAX)
        return FRAME_BAD;
    frame->head_len = frame->scanned = head_len;
    return FRAME_DONE;
}

/* The line `SIZE[;ext]\r\n` at `at`. Fills the size and where the data starts. */
static enum frame_state chunk_line(const char *base, size_t at, size_t len, size_t *ret_size,
                                   size_t *ret_data) {
    const char *newline = memchr(base + at, '\n', len - at);
    if (!newline)
        return FRAME_MORE;
    char *end = NULL;
    *ret_size = strtoul(base + at, &end, 16); /* stops at CR */
    *ret_data = (size_t)(newline - base) + 1;
    return end == base + at || *ret_size > FRAME_BODY_MAX ? FRAME_BAD : FRAME_DONE;
}

static void unchunk(struct frame *frame, char *base, size_t end) {
    size_t at = frame->head_len;
    size_t to = at;
    size_t size = 0;
    size_t data = 0;
    while (at < end && chunk_line(base, at, end, &size, &data) == FRAME_DONE && size) {
        memmove(base + to, base + data, size);
        to += size;
        at = data + size + 2;
    }
    frame->body_len = to - frame->head_len;
}

/* Trailers are not expected: the last chunk is `0\r\n\r\n`. */
static enum frame_state walk_chunks(struct frame *frame, char *base, size_t len) {
    for (;;) {
        size_t size = 0;
        size_t data = 0;
        if (frame->scanned >= len)
            return FRAME_MORE;
        enum frame_state state = chunk_line(base, frame->scanned, len, &size, &data);
        if (state != FRAME_DONE)
            return state;
        if (data + size + 2 > len)
            return FRAME_MORE;
        frame->scanned = data + size + 2;
        if (size == 0)
            break;
    }
    frame->total_len = frame->scanned;
    unchunk(frame, base, frame->total_len);
    return FRAME_DONE;
}

enum frame_state frame_step(struct frame *frame, char *base, size_t len) {
    if (!frame->head_len) {
        enum frame_state state = take_head(frame, base, len);
        if (state != FRAME_DONE)
            return state;
    }
    frame->body = base + frame->head_len;
    if (frame->chunked)
        return walk_chunks(frame, base, len);
    frame->total_len = frame->head_len + frame->body_len;
    return len >= frame->total_len ? FRAME_DONE : FRAME_MORE;
}
