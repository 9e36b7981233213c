/* JSON, and the names of the formats. */
#include "pages/render.h"

#include "wire/emit.h"

void render_sheet(const struct sheet *s, const struct render_options *options, struct buf *out) {
    switch (options->form) {
    case RENDER_TEXT:
        render_text(s, options, out);
        break;
    case RENDER_MARKDOWN:
        render_markdown(s, out);
        break;
    case RENDER_HTML:
        render_html(s, options, out);
        break;
    case RENDER_JSON:
        render_json(s, out);
        break;
    }
}

static const char *const kind_names[] = {"heading", "text", "bar",   "facts",
                                         "table",   "code", "links", "question"};

static void put_rows(struct emit *e, const struct sheet_block *b) {
    emit_key(e, "rows");
    emit_array(e);
    for (const struct sheet_row *row = b->rows; row; row = row->next) {
        emit_array(e);
        for (size_t i = 0; i < b->columns; i++) {
            emit_object(e);
            emit_key(e, "text");
            emit_str(e, row->cells[i].text);
            emit_text(e, "link", row->cells[i].link);
            emit_text(e, "mark", row->cells[i].mark);
            emit_object_end(e);
        }
        emit_array_end(e);
    }
    emit_array_end(e);
}

void render_json(const struct sheet *s, struct buf *out) {
    struct emit e;
    emit_init(&e, out);
    emit_object(&e);
    emit_key(&e, "kind");
    emit_cstr(&e, s->kind);
    emit_text(&e, "id", s->id);
    emit_text(&e, "title", s->title);
    emit_text(&e, "summary", s->summary);
    if (s->facts.len) {
        buf_put_char(out, ',');
        buf_put_slice(out, s->facts);
    }
    emit_key(&e, "blocks");
    emit_array(&e);
    for (const struct sheet_block *b = s->blocks; b; b = b->next) {
        emit_object(&e);
        emit_key(&e, "kind");
        emit_cstr(&e, kind_names[b->kind]);
        emit_text(&e, "title", b->title);
        emit_text(&e, "text", b->text);
        emit_text(&e, "language", b->language);
        if (b->kind == SHEET_BAR) {
            emit_key(&e, "numbers");
            emit_array(&e);
            for (int i = 0; i < 3; i++)
                emit_int(&e, (int64_t)b->numbers[i]);
            emit_array_end(&e);
        }
        if (b->columns)
            put_rows(&e, b);
        emit_object_end(&e);
    }
    emit_array_end(&e);
    emit_object_end(&e);
}
