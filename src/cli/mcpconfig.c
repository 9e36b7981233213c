#include "cli/mcpconfig.h"

#include "base/mem.h"
#include "cli/command.h"
#include "cli/toollist.h"
#include "risk/catalogue.h"
#include "risk/glyph.h"
#include "risk/supply.h"
#include "wire/emit.h"

#define ARGUMENTS_MAX 256

struct row {
    struct slice name, url;
    struct risk_supply supply;
    struct slice impostor;
};

static struct slice text_at(const struct tape *t, uint32_t node, struct arena *a) {
    return node && tape_is(t, node, TAPE_STRING) ? tape_text(t, node, a) : (struct slice){0};
}

static struct row read_server(const struct tape *t, uint32_t key, struct arena *a) {
    struct row row = {.name = tape_text(t, key, a)};
    uint32_t server = key + 1;
    if (!tape_is(t, server, TAPE_OBJECT))
        return row;
    struct slice argv[ARGUMENTS_MAX];
    size_t count = 0;
    struct slice command = text_at(t, tape_get_str(t, server, "command"), a);
    if (command.len)
        argv[count++] = command;
    uint32_t args = tape_get_str(t, server, "args");
    if (args && tape_is(t, args, TAPE_ARRAY))
        TAPE_FOR_ELEM(t, args, i)
    if (count < ARRAY_LEN(argv))
        argv[count++] = text_at(t, i, a);
    row.url = text_at(t, tape_get_str(t, server, "url"), a);
    if (command.len)
        risk_supply_read(argv, count, &row.supply);
    if (row.supply.package.len)
        row.impostor = risk_impostor_of(row.supply.package, a);
    return row;
}

static void put_text(const struct row *row, struct arena *a, struct buf *out) {
    struct slice name = risk_printable(row->name, 64, a),
                 package = risk_printable(row->supply.package, 120, a);
    buf_printf(out, "%.*s: ", SLICE_FMT(name));
    if (row->url.len) {
        struct slice url = risk_printable(row->url, 120, a);
        buf_printf(out, "%.*s", SLICE_FMT(url));
    } else if (row->supply.runner) {
        buf_printf(out, "%s %.*s", row->supply.runner, SLICE_FMT(package));
        if (row->supply.unpinned)
            buf_put_str(out, ", version not pinned: whatever was published last will run");
        else
            buf_printf(out, " %.*s", SLICE_FMT(row->supply.version));
    } else {
        buf_put_str(out, "a program on this machine");
    }
    if (row->impostor.len)
        buf_printf(out, "; the name is close to the known package %.*s: an impostor?",
                   SLICE_FMT(row->impostor));
    buf_put_char(out, '\n');
}

static void put_json(const struct row *row, struct emit *e) {
    emit_object(e);
    emit_key(e, "server");
    emit_str(e, row->name);
    if (row->url.len) {
        emit_key(e, "url");
        emit_str(e, row->url);
    }
    if (row->supply.runner) {
        emit_key(e, "runner");
        emit_cstr(e, row->supply.runner);
        emit_key(e, "package");
        emit_str(e, row->supply.package);
        emit_key(e, "version");
        emit_str(e, row->supply.version);
        emit_key(e, "pinned");
        emit_bool(e, !row->supply.unpinned);
    }
    if (row->impostor.len) {
        emit_key(e, "imitates");
        emit_str(e, row->impostor);
    }
    emit_object_end(e);
}

static uint32_t find_servers(const struct tape *t) {
    if (!tape_is(t, 0, TAPE_OBJECT))
        return 0;
    uint32_t servers = tape_get_str(t, 0, "mcpServers");
    if (!servers)
        servers = tape_get_str(t, 0, "servers");
    return servers && tape_is(t, servers, TAPE_OBJECT) ? servers : 0;
}

int cli_mcpconfig_report(const char *path, bool json) {
    struct err err = {0};
    cleanup_toollist struct cli_toollist list;
    cli_toollist_init(&list);
    size_t at = 0;
    if (cli_file_read(path, &list.text, NULL, &err))
        return cli_fail(CLI_CONFIG, &err);
    enum tape_fault fault = tape_parse(&list.tape, buf_slice(&list.text), &at);
    uint32_t servers = fault ? 0 : find_servers(&list.tape);
    if (!servers) {
        if (fault)
            err_set(&err, "read `%s`: byte %zu: %s", path, at, tape_fault_text(fault));
        else
            err_set(&err, "read `%s`: neither `mcpServers` nor `servers`", path);
        return cli_fail(CLI_CONFIG, &err);
    }
    cleanup_buf struct buf out;
    buf_init(&out, CLI_TOOLLIST_BYTES_MAX);
    struct emit e;
    emit_init(&e, &out);
    bool impostor = false;
    if (json)
        emit_array(&e);
    TAPE_FOR_MEMBER(&list.tape, servers, key) {
        struct row row = read_server(&list.tape, key, &list.arena);
        impostor |= row.impostor.len > 0;
        if (json)
            put_json(&row, &e);
        else
            put_text(&row, &list.arena, &out);
    }
    if (json) {
        emit_array_end(&e);
        buf_put_char(&out, '\n');
    }
    int status = cli_print(&out);
    return status ? status : impostor ? CLI_NO : CLI_OK;
}
