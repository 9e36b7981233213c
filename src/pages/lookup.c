#include "pages/lookup.h"

#include "base/mem.h"
#include "pages/attack.h"
#include "pages/server_page.h"
#include "pages/tool_page.h"

/* Every server that has a tool of that name, when there are several. */
static void list_page(struct slice tool, size_t place, size_t count, struct sheet *s) {
    static const char *const heads[] = {"Server", "Registry", "Class", "Signals"};
    struct slice name = sheet_name(s, tool);
    s->title = name;
    sheet_text(s, "Servers with a tool of that name. `sallyport catalogue show SERVER %.*s` shows one.",
               SLICE_FMT(name));
    sheet_rows(s, SHEET_TABLE, ARRAY_LEN(heads));
    struct sheet_row *head = sheet_row(s);
    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        head->cells[i].text = slice_str(heads[i]);
    for (size_t i = 0; i < count; i++) {
        struct risk_known k;
        struct risk_published server;
        struct subject subject;
        risk_catalogue_get(risk_catalogue_in_order(place + i), &k);
        risk_catalogue_server(k.server, &server);
        if (!server.newest)
            continue;
        subject_from_catalogue(k.server, s->a, &subject);
        struct sheet_row *row = sheet_row(s);
        row->cells[0] =
            (struct sheet_cell){.text = sheet_name(s, k.package), .link = subject_tool_target(&k, s->a)};
        row->cells[1].text = slice_str(risk_registry_name(k.registry));
        row->cells[2].text = slice_str(risk_class_name(k.cls));
        for (size_t t = 0; t < subject.count; t++)
            if (slice_eq(subject.tools[t].name, tool))
                row->cells[3].text = tool_page_signals(&subject.tools[t], s);
    }
}

static bool page_of_tool(size_t server, struct slice tool, struct sheet *s) {
    struct subject *subject = arena_new(s->a, struct subject);
    subject_from_catalogue(server, s->a, subject);
    for (size_t i = 0; i < subject->count; i++)
        if (slice_eq(subject->tools[i].name, tool)) {
            s->kind = "tool";
            tool_page(subject, i, s);
            return true;
        }
    return false;
}

static bool page_of_name(struct slice tool, struct sheet *s) {
    size_t place, count = risk_catalogue_named(tool, &place), newest = 0, only = 0;
    for (size_t i = 0; i < count; i++) {
        struct risk_known k;
        struct risk_published server;
        risk_catalogue_get(risk_catalogue_in_order(place + i), &k);
        risk_catalogue_server(k.server, &server);
        newest += server.newest;
        only = server.newest ? k.server : only;
    }
    if (newest == 1)
        return page_of_tool(only, tool, s);
    s->kind = "tools";
    if (newest)
        list_page(tool, place, count, s);
    return newest > 0;
}

bool lookup_page(struct slice name, struct slice tool, struct sheet *s) {
    size_t server;
    struct slice rest = name, kind;
    const struct attack *attack =
        slice_cut(&rest, ':', &kind) && slice_is(kind, "attack") ? attack_find(rest) : NULL;
    if (attack) {
        s->kind = "attack";
        attack_page(attack, s);
        return true;
    }
    if (subject_find(name, &server)) {
        if (tool.len)
            return page_of_tool(server, tool, s);
        struct subject *subject = arena_new(s->a, struct subject);
        subject_from_catalogue(server, s->a, subject);
        server_page(subject, s);
        return true;
    }
    return !tool.len && page_of_name(name, s);
}
