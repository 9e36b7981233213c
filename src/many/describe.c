#include "many/describe.h"

#include "call/answer.h"
#include "channel/channel.h"
#include "guard/clean.h"
#include "many/limits.h"
#include "many/many.h"
#include "many/shortlist.h"
#include "server/visible.h"
#include "wire/emit.h"

#define HELLO_SERVERS_MAX 256
#define SERVER_INFO "{\"name\":\"sallyport\",\"title\":\"Sallyport\",\"version\":\"" SALLYPORT_VERSION "\"}"

/* The capabilities that the gate supports. */
static const struct {
    const char *name;
    bool assumed;      /* assumed for a server that has not answered yet */
    bool list_changed; /* the gate itself notifies about changed lists */
    bool legacy_only;
} carried[] = {
    {"tools", true, true, false},        {"resources", true, true, false},
    {"prompts", true, true, false},      {"completions", true, false, false},
    {"logging", true, false, false},     {"tasks", false, false, true},
    {"extensions", false, false, false}, {"experimental", false, false, false},
};

struct description {
    struct call *call;
    struct tape tapes[HELLO_SERVERS_MAX]; /* of the capabilities that are known */
    size_t count;
    bool unknown; /* some server has not answered yet */
};

static void gather_capabilities(struct description *h) {
    size_t at = 0;
    struct server *server;
    while ((server = visible_next(h->call->session, &at)) && h->count < HELLO_SERVERS_MAX) {
        struct tape *t = &h->tapes[h->count];
        tape_init(t);
        if (server->description.capabilities &&
            tape_parse(t, slice_str(server->description.capabilities), NULL) == TAPE_OK)
            h->count++;
        else
            h->unknown = true;
    }
}

static bool is_false(const struct tape *t, uint32_t key) {
    uint32_t listing =
        tape_eq(t, key, SLICE("io.modelcontextprotocol/skills")) && tape_is(t, key + 1, TAPE_OBJECT)
            ? tape_get_str(t, key + 1, "directoryRead")
            : key;
    return tape_is(t, key + 1, TAPE_FALSE) || !listing || tape_is(t, listing, TAPE_FALSE);
}

/* The union of their members; a member is true if any of them has it true. */
static void emit_union(struct description *h, struct emit *e, const char *name, bool list_changed) {
    struct arena *a = &h->call->arena;
    struct map seen;
    map_init(&seen);
    emit_object(e);
    if (list_changed) {
        emit_key(e, "listChanged");
        emit_bool(e, true);
        map_put(&seen, SLICE("listChanged"), h);
    }
    for (int yes = 1; yes >= 0; yes--) {
        for (size_t i = 0; i < h->count; i++) {
            const struct tape *t = &h->tapes[i];
            uint32_t node = tape_get_str(t, 0, name);
            if (!node || !tape_is(t, node, TAPE_OBJECT))
                continue;
            TAPE_FOR_MEMBER(t, node, key) {
                struct slice member = tape_text(t, key, a);
                if ((yes && is_false(t, key)) || map_get(&seen, member))
                    continue;
                map_put(&seen, member, h);
                emit_key_slice(e, member);
                emit_raw(e, tape_raw(t, key + 1));
            }
        }
    }
    emit_object_end(e);
    map_free(&seen);
}

static bool anybody_has(const struct description *h, const char *name) {
    for (size_t i = 0; i < h->count; i++)
        if (tape_get_str(&h->tapes[i], 0, name))
            return true;
    return false;
}

static void emit_capabilities(struct description *h, struct emit *e) {
    emit_object(e);
    for (size_t i = 0; i < sizeof(carried) / sizeof(carried[0]); i++) {
        if (carried[i].legacy_only && h->call->modern)
            continue;
        if (!anybody_has(h, carried[i].name) && !(h->unknown && carried[i].assumed))
            continue;
        emit_key(e, carried[i].name);
        emit_union(h, e, carried[i].name, carried[i].list_changed);
    }
    emit_object_end(e);
}

static void put_instructions(struct call *c, struct buf *out) {
    struct session *s = c->session;
    size_t at = 0;
    struct server *server;
    if (visible_renames(s))
        buf_put_str(out, "This server combines several servers. Tools and prompts are named SERVER__NAME.\n");
    shortlist_instructions(s, out);
    while ((server = visible_next(s, &at))) {
        const struct channel *ch = channel_find(s, server);
        cleanup_tape struct tape t;
        tape_init(&t);
        if (server->description.instructions &&
            tape_parse(&t, slice_str(server->description.instructions), NULL) == TAPE_OK) {
            struct slice text = slice_upto(tape_text(&t, 0, &c->arena), GATHER_INSTRUCTIONS_MAX);
            text = clean_instructions(s->core, server, text, &c->arena);
            if (text.len)
                buf_printf(out, "\n%s:\n%.*s\n", server->up.name, SLICE_FMT(text));
        }
        if (ch && ch->missing)
            buf_printf(out, "\n%s is not available at present.\n", server->up.name);
    }
}

static void emit_instructions(struct call *c, struct emit *e) {
    cleanup_buf struct buf text;
    buf_init(&text, (size_t)GATHER_INSTRUCTIONS_MAX * HELLO_SERVERS_MAX);
    put_instructions(c, &text);
    if (!text.len)
        return;
    emit_key(e, "instructions");
    emit_str(e, slice_trim(buf_slice(&text)));
}

static void emit_modern(struct emit *e) {
    emit_key(e, "resultType");
    emit_cstr(e, "complete");
    emit_key(e, "supportedVersions");
    emit_raw(e, SLICE("[\"2026-07-28\"]"));
    emit_key(e, "ttlMs");
    emit_int(e, 0);
    emit_key(e, "cacheScope");
    emit_cstr(e, "private");
    emit_key(e, "_meta");
    emit_raw(e, SLICE("{\"io.modelcontextprotocol/serverInfo\":" SERVER_INFO "}"));
}

struct slice describe_text(struct call *c) {
    struct description *h = arena_new(&c->arena, struct description);
    h->call = c;
    gather_capabilities(h);
    cleanup_buf struct buf out;
    buf_init(&out, MSG_BYTES_MAX);
    struct emit e;
    answer_emit(c, &e, &out);
    if (c->modern) {
        emit_modern(&e);
    } else {
        emit_key(&e, "protocolVersion");
        emit_cstr(&e, c->session->version);
        emit_key(&e, "serverInfo");
        emit_raw(&e, SLICE(SERVER_INFO));
    }
    emit_key(&e, "capabilities");
    emit_capabilities(h, &e);
    emit_instructions(c, &e);
    emit_object_end(&e);
    emit_object_end(&e);
    for (size_t i = 0; i <= h->count && i < HELLO_SERVERS_MAX; i++)
        tape_free(&h->tapes[i]);
    return arena_dup(&c->arena, buf_slice(&out));
}
