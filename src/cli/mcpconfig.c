#include "cli/mcpconfig.h"

#include "base/glyph.h"
#include "risk/catalogue.h"
#include "wire/mask.h"

#include <string.h>

void cli_mcpconfig_init(struct cli_mcpconfig *c) {
    memset(c, 0, sizeof *c);
    arena_init(&c->arena);
}

void cli_mcpconfig_free(struct cli_mcpconfig *c) {
    settings_free(c->settings);
    arena_free(&c->arena);
}

static void read_supply(struct cli_mcpconfig *c, const struct settings_list *argv, struct cli_mcpserver *s) {
    struct slice *words = arena_array(&c->arena, struct slice, argv->count);
    for (size_t i = 0; i < argv->count; i++)
        words[i] = slice_str(argv->items[i]);
    risk_supply_read(words, argv->count, &s->supply);
    if (s->supply.package.len)
        risk_lookalike_find(s->supply.registry, s->supply.package, &c->arena, &s->impostor);
}

void cli_mcpconfig_add(struct cli_mcpconfig *c, const struct settings_server *from) {
    struct cli_mcpserver *s = &c->servers[c->count++];
    *s = (struct cli_mcpserver){.name = from->title, .from = from, .url = from->url};
    if (from->argv.count)
        read_supply(c, &from->argv, s);
}

/* The gate's own settings are YAML, clients' files are not. */
static bool is_own(const char *path) {
    struct slice name = slice_str(path);
    return slice_ends(name, SLICE(".yaml")) || slice_ends(name, SLICE(".yml"));
}

int cli_mcpconfig_read(struct cli_mcpconfig *c, const char *path, struct err *err) {
    bool own = is_own(path);
    if (settings_load(own ? path : NULL, &path, own ? 0 : 1, &c->settings, err) < 0)
        return -1;
    c->servers = arena_array(&c->arena, struct cli_mcpserver, c->settings->server_count + 1);
    for (size_t i = 0; i < c->settings->server_count; i++)
        cli_mcpconfig_add(c, &c->settings->servers[i]);
    return 0;
}

void cli_mcpserver_text(const struct cli_mcpserver *s, struct arena *a, struct buf *out) {
    struct slice name = glyph_printable(slice_str(s->name), 64, a);
    buf_printf(out, "%.*s: ", SLICE_FMT(name));
    if (s->url) {
        struct slice url = glyph_printable(mask_url(slice_str(s->url), a), 120, a);
        buf_put_slice(out, url);
    } else if (s->supply.runner) {
        struct slice package = glyph_printable(s->supply.package, 120, a);
        buf_printf(out, "%s %.*s", s->supply.runner, SLICE_FMT(package));
        if (s->supply.unpinned)
            buf_put_str(out, ", version not pinned: whatever was published last will run");
        else
            buf_printf(out, " %.*s", SLICE_FMT(s->supply.version));
    } else {
        buf_put_str(out, "a program on this machine");
    }
    if (s->impostor.of.len) {
        struct slice text = risk_lookalike_text(&s->impostor, a);
        buf_printf(out, "; %.*s%s", SLICE_FMT(text), s->impostor.trusted ? "" : ": an impostor?");
    }
    buf_put_char(out, '\n');
}

void cli_mcpserver_json(const struct cli_mcpserver *s, struct emit *e) {
    emit_key(e, "server");
    emit_cstr(e, s->name);
    if (s->url) {
        cleanup_arena struct arena a;
        arena_init(&a);
        emit_key(e, "url");
        emit_str(e, mask_url(slice_str(s->url), &a));
    }
    if (s->supply.runner) {
        emit_key(e, "runner");
        emit_cstr(e, s->supply.runner);
        emit_key(e, "package");
        emit_str(e, s->supply.package);
        emit_key(e, "version");
        emit_str(e, s->supply.version);
        emit_key(e, "pinned");
        emit_bool(e, !s->supply.unpinned);
    }
    if (s->impostor.of.len) {
        emit_key(e, "imitates");
        emit_str(e, s->impostor.of);
        emit_key(e, "imitation_score");
        emit_int(e, s->impostor.score);
        emit_key(e, "imitation_reasons");
        emit_str(e, s->impostor.reasons);
        emit_key(e, "trusted");
        emit_bool(e, s->impostor.trusted);
    }
}
