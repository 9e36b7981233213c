#include "pages/sheet.h"

#include "base/glyph.h"
#include "base/mem.h"

#include <stdarg.h>

void sheet_init(struct sheet *s, struct arena *a, const char *kind) {
    *s = (struct sheet){.a = a, .kind = kind};
}

struct slice sheet_name(struct sheet *s, struct slice name) {
    struct slice shown = glyph_printable(name, PAGES_NAME_MAX, s->a);
    char *copy = (char *)(uintptr_t)arena_dup(s->a, shown).ptr;
    for (size_t i = 0; i < shown.len; i++)
        if (copy[i] == '`')
            copy[i] = '\'';
    return slice_of(copy, shown.len);
}

static struct sheet_block *add(struct sheet *s, enum sheet_kind kind) {
    struct sheet_block *b = arena_new(s->a, struct sheet_block);
    b->kind = kind;
    b->detail = s->detail;
    if (s->last)
        s->last->next = b;
    else
        s->blocks = b;
    s->last = b;
    return b;
}

void sheet_heading(struct sheet *s, const char *text, bool detail) {
    s->detail = detail;
    add(s, SHEET_HEADING)->text = arena_dup(s->a, slice_str(text));
}

void sheet_text(struct sheet *s, const char *fmt, ...) {
    cleanup_buf struct buf text;
    buf_init(&text, PAGES_BYTES_MAX);
    va_list args;
    va_start(args, fmt);
    cleanup_free char *made = NULL;
    if (vasprintf(&made, fmt, args) < 0)
        abort();
    va_end(args);
    add(s, SHEET_TEXT)->text = arena_dup(s->a, slice_str(made));
}

void sheet_badge(struct sheet *s, const char *text, const char *mark) {
    sheet_text(s, "%s", text);
    s->last->mark = slice_str(mark);
}

void sheet_bar(struct sheet *s, size_t read, size_t changing, size_t worst) {
    struct sheet_block *b = add(s, SHEET_BAR);
    b->numbers[0] = read;
    b->numbers[1] = changing;
    b->numbers[2] = worst;
}

void sheet_code(struct sheet *s, const char *title, const char *language, struct slice text) {
    struct sheet_block *b = add(s, SHEET_CODE);
    b->title = arena_dup(s->a, slice_str(title));
    b->language = slice_str(language);
    b->text = arena_dup(s->a, text);
}

void sheet_question(struct sheet *s, struct slice question, struct slice answer) {
    struct sheet_block *b = add(s, SHEET_QUESTION);
    b->title = question;
    b->text = answer;
}

void sheet_rows(struct sheet *s, enum sheet_kind kind, size_t columns) { add(s, kind)->columns = columns; }

struct sheet_row *sheet_row(struct sheet *s) {
    struct sheet_row *row = arena_new(s->a, struct sheet_row);
    if (s->last->last_row)
        s->last->last_row->next = row;
    else
        s->last->rows = row;
    s->last->last_row = row;
    return row;
}

void sheet_fact(struct sheet *s, const char *key, struct slice value) {
    if (!value.len)
        return;
    struct sheet_row *row = sheet_row(s);
    row->cells[0].text = slice_str(key);
    row->cells[1].text = value;
}

void sheet_link(struct sheet *s, struct slice link, struct slice text, struct slice note) {
    struct sheet_row *row = sheet_row(s);
    row->cells[0] = (struct sheet_cell){.text = text, .link = link};
    row->cells[1].text = note;
}

struct slice sheet_server(struct slice title, struct arena *a) {
    const struct slice end = SLICE("server");
    bool says = title.len > end.len && slice_eq_nocase(slice_from(title, title.len - end.len), end);
    return says ? title : arena_printf(a, "the %.*s MCP server", SLICE_FMT(title));
}
