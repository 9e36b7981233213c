#include "pages/website.h"

#include "base/mem.h"
#include "io/file.h"
#include "pages/attack.h"
#include "pages/render.h"
#include "pages/server_page.h"
#include "pages/tool_page.h"
#include "risk/search.h"
#include "wire/emit.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

struct site {
    const char *dir;
    struct arena arena; /* of the page that is being made */
    struct buf page;
    struct buf index;      /* index.js */
    struct buf first_page; /* rows of the table of all servers */
    struct emit e;         /* into the index */
    struct website_count count;
};

/* The folders of a path below the site. */
static int make_folders(const char *dir, struct slice path, struct err *err) {
    char full_path[PATH_MAX];
    if (snprintf(full_path, sizeof(full_path), "%s/%.*s", dir, SLICE_FMT(path)) >= (int)sizeof(full_path))
        return err_set(err, "the path `%.*s` is too long", SLICE_FMT(path));
    for (char *slash = full_path + strlen(dir) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (mkdir(full_path, 0755) < 0 && errno != EEXIST)
            return err_set(err, "`%s`: %s", full_path, strerror(errno));
        *slash = '/';
    }
    return 0;
}

static int write_at(const struct site *site, struct slice path, struct slice text, struct err *err) {
    char full_path[PATH_MAX];
    if (make_folders(site->dir, path, err) < 0)
        return -1;
    snprintf(full_path, sizeof(full_path), "%s/%.*s", site->dir, SLICE_FMT(path));
    cleanup_file FILE *file = fopen(full_path, "we");
    if (!file || fwrite(text.ptr, 1, text.len, file) != text.len || fflush(file) != 0)
        return err_set(err, "`%s`: %s", full_path, strerror(errno));
    return 0;
}

static int write_sheet(struct site *site, const struct sheet *s, struct slice path, struct err *err) {
    char root[PATH_MAX] = "";
    size_t len = 0;
    for (size_t i = 0; i < path.len && len + 4 < sizeof(root); i++)
        if (path.ptr[i] == '/')
            len += (size_t)snprintf(root + len, sizeof(root) - len, "../");
    buf_reset(&site->page);
    render_sheet(s, &(struct render_options){.form = RENDER_HTML, .root = root}, &site->page);
    if (site->page.full)
        return err_set(err, "the page of `%.*s` is too large", SLICE_FMT(s->title));
    return write_at(site, path, buf_slice(&site->page), err);
}

static void index_tool(struct site *site, struct slice name, struct slice path) {
    emit_array(&site->e);
    emit_str(&site->e, name);
    emit_str(&site->e, path);
    emit_array_end(&site->e);
}

static void index_server(struct site *site, const struct subject *subject, struct slice path) {
    static const char *const marks[] = {"low", "medium", "high", "critical"};
    struct slice line = server_page_count_line(subject, &site->arena);
    emit_array(&site->e);
    emit_str(&site->e, subject->name);
    emit_str(&site->e, subject->known.title);
    emit_str(&site->e, path);
    buf_printf(&site->first_page, "<tr><td><a href=\"%.*s\">", SLICE_FMT(path));
    render_escape(&site->first_page, subject->title);
    buf_printf(&site->first_page,
               "</a></td><td>%s</td><td>%.*s</td><td><span class=\"m-%s\">%s</span></td></tr>\n",
               risk_registry_name(subject->known.registry), SLICE_FMT(line), marks[subject_risk(subject)],
               marks[subject_risk(subject)]);
}

static int write_server(struct site *site, size_t server, struct err *err) {
    struct subject subject;
    struct sheet sheet;
    subject_from_catalogue(server, &site->arena, &subject);
    sheet_init(&sheet, &site->arena, "server");
    server_page(&subject, &sheet);
    struct slice path = render_path(sheet.id, &site->arena);
    if (write_sheet(site, &sheet, path, err) < 0)
        return -1;
    site->count.servers++;
    index_server(site, &subject, path);
    emit_array(&site->e);
    for (size_t i = 0; i < subject.count; i++) {
        sheet_init(&sheet, &site->arena, "tool");
        tool_page(&subject, i, &sheet);
        path = render_path(sheet.id, &site->arena);
        if (write_sheet(site, &sheet, path, err) < 0)
            return -1;
        site->count.tools++;
        index_tool(site, subject.tools[i].name, path);
    }
    emit_array_end(&site->e);
    emit_array_end(&site->e);
    return 0;
}

static int write_attacks(struct site *site, struct err *err) {
    struct sheet list;
    sheet_init(&list, &site->arena, "attacks");
    list.title = SLICE("Attack patterns");
    list.summary = SLICE("Documented attacks through MCP, and what stops each");
    sheet_text(&list, "Documented attacks through MCP servers: the case, what the gate does, a policy.");
    sheet_rows(&list, SHEET_LINKS, 2);
    for (size_t i = 0; i < attack_count; i++) {
        const struct attack *a = &attack_table[i];
        struct sheet sheet;
        sheet_link(&list, arena_printf(&site->arena, "attack:%s", a->id), slice_str(a->title),
                   slice_str(a->reference));
        sheet_init(&sheet, &site->arena, "attack");
        attack_page(a, &sheet);
        if (write_sheet(site, &sheet, render_path(sheet.id, &site->arena), err) < 0)
            return -1;
        site->count.attacks++;
    }
    return write_sheet(site, &list, SLICE("attacks/index.html"), err);
}

static int write_first(struct site *site, struct err *err) {
    buf_reset(&site->page);
    buf_printf(
        &site->page,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width,initial-scale=1\">\n"
        "<title>MCP server catalogue</title>\n<link rel=\"stylesheet\" href=\"site.css\"><script "
        "src=\"index.js\" defer></script><script src=\"site.js\" defer></script>\n"
        "</head><body><header><a href=\"index.html\">Catalogue</a> <span class=\"muted\">/</span> <a "
        "href=\"attacks/index.html\">Attack patterns</a></header>\n<main><h1>MCP server catalogue</h1>\n"
        "<p>%zu servers, %zu tools, %zu attack patterns.</p>\n<input id=\"search\" type=\"search\" "
        "placeholder=\"Search servers and tools\" aria-label=\"Search\" autofocus>\n"
        "<p id=\"told\" class=\"muted\" role=\"status\"></p><ul id=\"found\"></ul>\n<div id=\"all\" "
        "class=\"table\"><table>\n<tr><th>Server</th><th>Registry</th><th>Tools</th><th>Risk</th></tr>\n",
        site->count.servers, site->count.tools, site->count.attacks);
    buf_put_slice(&site->page, buf_slice(&site->first_page));
    buf_put_str(&site->page, "</table></div></main></body></html>\n");
    emit_array_end(&site->e);
    buf_put_str(&site->index, ";\n");
    if (site->page.full || site->index.full)
        return err_set(err, "the index is too large");
    if (write_at(site, SLICE("index.html"), buf_slice(&site->page), err) < 0 ||
        write_at(site, SLICE("index.js"), buf_slice(&site->index), err) < 0 ||
        write_at(site, SLICE("site.css"), render_style(), err) < 0)
        return -1;
    return write_at(site, SLICE("site.js"), render_script(), err);
}

int website_write(const char *dir, struct website_count *ret_count, struct err *err) {
    struct site site = {.dir = dir};
    arena_init(&site.arena);
    buf_init(&site.page, PAGES_BYTES_MAX);
    buf_init(&site.index, PAGES_BYTES_MAX);
    buf_init(&site.first_page, PAGES_BYTES_MAX);
    buf_put_str(&site.index, "window.catalogue=");
    emit_init(&site.e, &site.index);
    emit_array(&site.e);
    int rc = mkdir(dir, 0755) < 0 && errno != EEXIST ? err_set(err, "`%s`: %s", dir, strerror(errno)) : 0;
    cleanup_arena struct arena keeps; /* the other one is reset after each server */
    arena_init(&keeps);
    size_t *order, all = risk_search_order(&keeps, &order);
    for (size_t i = 0; rc == 0 && i < all; i++) {
        rc = write_server(&site, order[i], err);
        arena_reset(&site.arena);
    }
    if (rc == 0)
        rc = write_attacks(&site, err);
    if (rc == 0)
        rc = write_first(&site, err);
    *ret_count = site.count;
    buf_free(&site.page);
    buf_free(&site.index);
    buf_free(&site.first_page);
    arena_free(&site.arena);
    return rc;
}
