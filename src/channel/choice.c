#include "channel/choice.h"

#include "call/call.h"
#include "mcp/translate.h"

void channel_choice_read(struct call *c) {
    const struct msg *m = c->request;
    if (c->client_read)
        return;
    c->client_read = true;
    uint32_t meta = rpc_param(&m->tape, &m->rpc, "_meta");
    uint32_t caps = meta ? tape_get_str(&m->tape, meta, UP_META_CAPABILITIES) : 0;
    uint32_t info = meta ? tape_get_str(&m->tape, meta, UP_META_CLIENT) : 0;
    c->client_caps = caps && tape_is(&m->tape, caps, TAPE_OBJECT) ? tape_raw(&m->tape, caps) : SLICE("{}");
    c->client_bits = translate_client_bits(&m->tape, caps);
    if (info && tape_is(&m->tape, info, TAPE_OBJECT))
        c->client_info = tape_raw(&m->tape, info);
}

void channel_choice_adopt(struct channel *ch, struct call *c) {
    struct arena a;
    arena_init(&a);
    uint32_t caps = c->request->rpc.params ? tape_path(&c->request->tape, c->request->rpc.params, "_meta",
                                                       UP_META_CAPABILITIES, NULL)
                                           : 0;
    struct slice declared = caps ? translate_client(&c->request->tape, caps, false, &a) : SLICE("{}");
    struct slice info = c->client_info.len
                            ? c->client_info
                            : SLICE("{\"name\":\"sallyport\",\"version\":\"" SALLYPORT_VERSION "\"}");
    text_set(&ch->client_caps, c->client_caps);
    text_set(&ch->own_init, arena_printf(&a,
                                         "{\"protocolVersion\":\"" UP_LEGACY_VERSION
                                         "\",\"capabilities\":%.*s,\"clientInfo\":%.*s}",
                                         SLICE_FMT(declared), SLICE_FMT(info)));
    ch->era = ERA_LEGACY;
    arena_free(&a);
}

bool channel_choice_exclusive(const struct channel *first, const struct call *c) {
    return c->forwarding && c->client_bits & TRANSLATE_ASKS && translate_may_ask(c->method) &&
           !channel_is_streamable(first);
}

bool channel_choice_fits(const struct channel *ch, const struct call *c, bool exclusive) {
    return ch->own_init.len && slice_eq(text_slice(ch->client_caps), c->client_caps) &&
           (!exclusive || (!ch->parked && (!ch->holder || ch->holder == c)));
}

static bool channel_is_free(const struct channel *ch) {
    /* The first one may be needed for a legacy client. */
    return !ch->users && list_empty(&ch->waiting) && !ch->is_claimed &&
           !(ch == ch->first && ch->session->init_done);
}

struct channel *channel_choice_find(struct channel *first, struct call *c, bool exclusive,
                                    struct channel **ret_free) {
    *ret_free = channel_is_free(first) ? first : NULL;
    if (channel_choice_fits(first, c, exclusive))
        return first;
    LIST_FOR (n, &first->others) {
        struct channel *ch = container_of(n, struct channel, other_node);
        if (channel_choice_fits(ch, c, exclusive))
            return ch;
        if (!*ret_free && channel_is_free(ch))
            *ret_free = ch;
    }
    return NULL;
}
