#include "load.h"

#include <string.h>

#define ANSWER_EDGE 160      /* the id stands this near to one end of an answer */
#define ANSWER_TEXT_FROM 512 /* the text starts this near to the front */

/* What tools return: prose, rows and code in lines, with quotes, tabs and some letters beyond ASCII. A reader
 * has to look at every byte, and meets an escape or a long letter every 30 bytes or so. */
static const char *const LINES[] = {
    "Ticket 4812, caf\xc3\xa9 orders: 1,024 rows were read, none skipped; see docs/import.md for the "
    "steps.\\n",
    "  {\\\"path\\\": \\\"src/load.c\\\", \\\"line\\\": 42, \\\"note\\\": \\\"na\xc3\xafve copy\\\"},\\n",
    "The export ran on Tuesday and took 3.5 seconds. Nobody has to do anything about it before Friday.\\n",
    "\\tif (rows_left > 0 && !is_last) { total += row.price * 1.19; } // \\\"gross\\\", \xe2\x82\xac per "
    "piece\\n",
    "M\xc3\xbcnchen, Malm\xc3\xb6 and Lyon answered at 09:41; the others have not, which is normal on a "
    "holiday.\\n",
};
static const char END[] = "All done."; /* what a condition of the policy looks for */

static void fill_text(char *text, size_t len) {
    size_t end = len < sizeof END - 1 ? 0 : sizeof END - 1, at = 0;
    for (size_t i = 0; at + strlen(LINES[i]) <= len - end; i = (i + 1) % (sizeof LINES / sizeof *LINES))
        at = put_bytes(text, len, at, LINES[i], strlen(LINES[i]));
    memset(text + at, 'x', len - end - at);
    put_bytes(text, len, len - end, END, end);
}

void shape_init(struct shape *shape, const struct options *options) {
    shape->open_len = put_text(shape->open, sizeof shape->open, 0, "{\"jsonrpc\":\"2.0\",\"id\":");
    shape->id_at = shape->open_len;
    shape->open_len = put_text(shape->open, sizeof shape->open, shape->open_len,
                               "%llu,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":{"
                               "\"mode\":\"plain\",\"n\":1,\"text\":\"",
                               (unsigned long long)LOAD_ID_FIRST, options->tool);
    shape->text_len = options->bytes;
    shape->text = must_alloc(options->bytes + 1);
    fill_text(shape->text, options->bytes);
    shape->tail_len = put_text(
        shape->tail, sizeof shape->tail, 0, "\"}%s}}",
        options->era == ERA_MODERN
            ? ",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" MODERN_VERSION
              "\",\"io.modelcontextprotocol/clientCapabilities\":{},\"io.modelcontextprotocol/clientInfo\":"
              "{\"name\":\"bench-load\",\"version\":\"1.0.0\"}}"
            : "");
    shape->expect_denied = options->expect_denied;
}

void shape_put_id(const struct shape *shape, char *open, uint64_t id) {
    put_u64(open, shape->id_at + LOAD_ID_DIGITS, shape->id_at, id);
}

int shape_iov(const struct shape *shape, char *open, size_t open_len, size_t sent, struct iovec *iov) {
    struct iovec parts[3] = {
        {open, open_len}, {shape->text, shape->text_len}, {(void *)shape->tail, shape->tail_len}};
    int count = 0;
    for (int i = 0; i < 3; i++) {
        if (sent >= parts[i].iov_len) {
            sent -= parts[i].iov_len;
            continue;
        }
        iov[count].iov_base = (char *)parts[i].iov_base + sent;
        iov[count++].iov_len = parts[i].iov_len - sent;
        sent = 0;
    }
    return count;
}

static uint64_t id_in(const char *base, size_t len) {
    const char *at = find_bytes(base, len, "\"id\":");
    if (!at)
        return 0;
    const char *end = base + len;
    at += 5;
    while (at < end && *at == ' ')
        at++;
    uint64_t id = 0;
    for (int digits = 0; at < end && *at >= '0' && *at <= '9' && digits < LOAD_ID_DIGITS; digits++)
        id = id * 10 + (uint64_t)(*at++ - '0');
    return id;
}

uint64_t answer_id(const char *body, size_t len) {
    size_t edge = len < ANSWER_EDGE ? len : ANSWER_EDGE;
    uint64_t id = id_in(body, edge);
    return id ? id : id_in(body + len - edge, edge);
}

static bool has_near_end(const char *body, size_t len, const char *needle) {
    size_t edge = len < ANSWER_TEXT_FROM ? len : ANSWER_TEXT_FROM;
    return find_bytes(body, edge, needle) || find_bytes(body + len - edge, edge, needle);
}

/* Of a stream, its last event: the others are what the server says meanwhile. */
static const char *last_event(const struct shape *shape, const char *body, size_t *len) {
    size_t edge = shape->text_len + ANSWER_TEXT_FROM;
    const char *from = *len > edge ? body + *len - edge : body;
    const char *event =
        *body == '{' ? NULL
                     : find_bytes(from, (size_t)(body + *len - from), "data: {\"jsonrpc\":\"2.0\",\"id\":");
    if (!event)
        return body;
    *len -= (size_t)(event - body);
    return event;
}

const char *answer_check(const struct shape *shape, const char *body, size_t len) {
    body = last_event(shape, body, &len);
    size_t front = len < ANSWER_TEXT_FROM ? len : ANSWER_TEXT_FROM;
    bool is_error = has_near_end(body, len, "\"isError\":true");
    if (!has_near_end(body, len, "\"result\":"))
        return "a JSON-RPC error instead of a result";
    if (shape->expect_denied)
        return is_error && find_bytes(body, front, "POLICY DENIED]") ? NULL : "the call was not denied";
    if (is_error)
        return "a result with isError";
    const char *text = find_bytes(body, front, "\"text\":\"");
    if (!text)
        return "a result without text";
    text += strlen("\"text\":\"");
    if ((size_t)(body + len - text) <= shape->text_len || text[shape->text_len] != '"')
        return "a text of the wrong length";
    return memcmp(text, shape->text, shape->text_len) == 0 ? NULL : "another text than was sent";
}
