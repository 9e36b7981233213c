/* Text for a terminal, short unless all is requested; and Markdown. */
#include "pages/render.h"

#include "base/mem.h"

#define WIDTH_MAX 44 /* of a column */
#define BAR_WIDTH 40

static const struct {
    const char *mark, *colour;
} colours[] = {
    {"read", "\x1b[32m"},        {"low", "\x1b[32m"},       {"write", "\x1b[33m"},
    {"medium", "\x1b[33m"},      {"execute", "\x1b[35m"},   {"high", "\x1b[35m"},
    {"destructive", "\x1b[31m"}, {"financial", "\x1b[31m"}, {"critical", "\x1b[31m"},
};

static const char *colour_of(struct slice mark) {
    for (size_t i = 0; i < ARRAY_LEN(colours); i++)
        if (slice_is(mark, colours[i].mark))
            return colours[i].colour;
    return NULL;
}

/* Backticks are for Markdown; text for a terminal omits them. */
static void put_plain(struct buf *out, struct slice text) {
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != '`')
            buf_put_char(out, text.ptr[i]);
}

static void put_painted(struct buf *out, const char *colour, struct slice text) {
    if (colour)
        buf_put_str(out, colour);
    put_plain(out, text);
    if (colour)
        buf_put_str(out, "\x1b[0m");
}

/* Display width, approximately: code points. */
static size_t width_of(struct slice text) {
    size_t width = 0;
    for (size_t i = 0; i < text.len; i++)
        width += ((unsigned char)text.ptr[i] & 0xc0) != 0x80 && text.ptr[i] != '`';
    return width;
}

static void put_table(const struct sheet_block *b, bool colour, struct buf *out) {
    size_t widths[PAGES_COLUMNS_MAX] = {0};
    for (const struct sheet_row *row = b->rows; row; row = row->next)
        for (size_t i = 0; i < b->columns; i++) {
            size_t width = width_of(row->cells[i].text);
            widths[i] = width > widths[i] ? width : widths[i];
        }
    for (const struct sheet_row *row = b->rows; row; row = row->next) {
        buf_put_str(out, "  ");
        for (size_t i = 0; i < b->columns; i++) {
            const struct sheet_cell *cell = &row->cells[i];
            const char *paint = !colour                                    ? NULL
                                : b->kind == SHEET_TABLE && row == b->rows ? "\x1b[1m"
                                : b->kind == SHEET_FACTS && i == 0         ? "\x1b[2m"
                                                                           : colour_of(cell->mark);
            put_painted(out, paint, cell->text);
            size_t own = width_of(cell->text), room = widths[i] < WIDTH_MAX ? widths[i] : WIDTH_MAX;
            for (size_t k = own < room ? own : room; i + 1 < b->columns && k < room + 2; k++)
                buf_put_char(out, ' ');
        }
        while (out->len && out->ptr[out->len - 1] == ' ')
            out->len--;
        buf_put_char(out, '\n');
    }
}

static void put_bar(const struct sheet_block *b, bool colour, struct buf *out) {
    static const char *const labels[] = {"Read", "Write / Execute", "Destructive / Financial"};
    static const char *const paints[] = {"\x1b[32m", "\x1b[33m", "\x1b[31m"};
    size_t total = b->numbers[0] + b->numbers[1] + b->numbers[2];
    buf_put_str(out, "  ");
    for (int i = 0; i < 3; i++)
        buf_printf(out, "%s%s%s (%zu)%s", i ? "  " : "", colour ? paints[i] : "", labels[i], b->numbers[i],
                   colour ? "\x1b[0m" : "");
    buf_put_str(out, "\n  ");
    for (int i = 0; total && i < 3; i++) {
        size_t cells = (b->numbers[i] * BAR_WIDTH + total - 1) / total;
        buf_put_str(out, colour ? paints[i] : "");
        for (size_t k = 0; k < cells; k++)
            buf_put_str(out, i == 0 ? "\xe2\x96\x91" : i == 1 ? "\xe2\x96\x93" : "\xe2\x96\x88");
        buf_put_str(out, colour ? "\x1b[0m" : "");
    }
    buf_put_char(out, '\n');
}

static void put_code(struct slice code, struct buf *out) {
    struct slice line;
    while (code.len) {
        slice_cut(&code, '\n', &line);
        buf_put_str(out, "    ");
        buf_put_slice(out, line);
        buf_put_char(out, '\n');
    }
}

static void text_block(const struct sheet_block *b, bool colour, struct buf *out) {
    const char *bold = colour ? "\x1b[1m" : "", *plain = colour ? "\x1b[0m" : "";
    switch (b->kind) {
    case SHEET_HEADING:
        buf_printf(out, "\n%s%.*s%s\n", bold, SLICE_FMT(b->text), plain);
        break;
    case SHEET_TEXT:
        buf_put_str(out, "  ");
        put_plain(out, b->text);
        buf_put_char(out, '\n');
        break;
    case SHEET_BAR:
        put_bar(b, colour, out);
        break;
    case SHEET_FACTS:
    case SHEET_TABLE:
    case SHEET_LINKS:
        put_table(b, colour, out);
        break;
    case SHEET_CODE:
        buf_printf(out, "  %.*s\n", SLICE_FMT(b->title));
        put_code(b->text, out);
        break;
    case SHEET_QUESTION:
        buf_printf(out, "  %s", bold);
        put_plain(out, b->title);
        buf_printf(out, "%s\n    ", plain);
        put_plain(out, b->text);
        buf_put_char(out, '\n');
        break;
    }
}

void render_text(const struct sheet *s, const struct render_options *options, struct buf *out) {
    bool left_out = false;
    const char *bold = options->colour ? "\x1b[1m" : "", *plain = options->colour ? "\x1b[0m" : "";
    buf_printf(out, "%s%.*s%s\n", bold, SLICE_FMT(s->title), plain);
    for (const struct sheet_block *b = s->blocks; b; b = b->next) {
        if (b->detail && !options->all)
            left_out = true;
        else
            text_block(b, options->colour, out);
    }
    if (left_out)
        buf_put_str(out, "\n--all shows the rest: policies, set-up, versions, questions.\n");
}

/* ---- Markdown ---- */

/* Characters that would start markup get a backslash in front, except the renderer's own backticks. */
static void put_md(struct buf *out, struct slice text) {
    bool code = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        code ^= c == '`';
        if (!code && strchr("\\*_[]<>#|", c))
            buf_put_char(out, '\\');
        else if (code && c == '|')
            buf_put_char(out, '\\');
        buf_put_char(out, c);
    }
}

static void md_table(const struct sheet_block *b, struct buf *out) {
    for (const struct sheet_row *row = b->rows; row; row = row->next) {
        if (b->kind == SHEET_LINKS)
            buf_put_str(out, "- ");
        for (size_t i = 0; i < b->columns; i++) {
            if (b->kind != SHEET_LINKS)
                buf_put_str(out, "| ");
            else if (i && row->cells[i].text.len)
                buf_put_str(out, ": ");
            put_md(out, row->cells[i].text);
            if (b->kind != SHEET_LINKS)
                buf_put_char(out, ' ');
        }
        buf_put_str(out, b->kind == SHEET_LINKS ? "\n" : "|\n");
        for (size_t i = 0; b->kind == SHEET_TABLE && row == b->rows && i < b->columns; i++)
            buf_put_str(out, i + 1 < b->columns ? "| --- " : "| --- |\n");
    }
    buf_put_char(out, '\n');
}

/* A fence that is longer than any in the code. */
static void md_code(const struct sheet_block *b, struct buf *out) {
    size_t longest = 2, run = 0;
    for (size_t i = 0; i < b->text.len; i++) {
        run = b->text.ptr[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    buf_printf(out, "%.*s\n\n", SLICE_FMT(b->title));
    for (size_t i = 0; i <= longest; i++)
        buf_put_char(out, '`');
    buf_printf(out, "%.*s\n%.*s", SLICE_FMT(b->language), SLICE_FMT(b->text));
    if (!slice_ends(b->text, SLICE("\n")))
        buf_put_char(out, '\n');
    for (size_t i = 0; i <= longest; i++)
        buf_put_char(out, '`');
    buf_put_str(out, "\n\n");
}

static void md_block(const struct sheet_block *b, struct buf *out) {
    switch (b->kind) {
    case SHEET_HEADING:
        buf_printf(out, "## %.*s\n\n", SLICE_FMT(b->text));
        break;
    case SHEET_TEXT:
        put_md(out, b->text);
        buf_put_str(out, "\n\n");
        break;
    case SHEET_BAR:
        buf_printf(out, "Read (%zu) Write / Execute (%zu) Destructive / Financial (%zu)\n\n", b->numbers[0],
                   b->numbers[1], b->numbers[2]);
        break;
    case SHEET_FACTS:
        buf_put_str(out, "| | |\n| --- | --- |\n");
        md_table(b, out);
        break;
    case SHEET_TABLE:
    case SHEET_LINKS:
        md_table(b, out);
        break;
    case SHEET_CODE:
        md_code(b, out);
        break;
    case SHEET_QUESTION:
        buf_put_str(out, "**");
        put_md(out, b->title);
        buf_put_str(out, "**\n\n");
        put_md(out, b->text);
        buf_put_str(out, "\n\n");
        break;
    }
}

void render_markdown(const struct sheet *s, struct buf *out) {
    buf_put_str(out, "# ");
    put_md(out, s->title);
    buf_put_str(out, "\n\n");
    for (const struct sheet_block *b = s->blocks; b; b = b->next)
        md_block(b, out);
}
