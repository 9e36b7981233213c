/* A page independent of its format: headings, texts, tables, code, links. Its content is written once;
 * render.h turns it into text for a terminal, Markdown, HTML or JSON.
 *
 * In texts `code` is between backticks. Names from outside go through sheet_name first, which removes
 * backticks. A link names its target: "server:npm/NAME", "tool:npm/NAME#TOOL", "attack:ID", or is empty. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "pages/limits.h"

enum sheet_kind {
    SHEET_HEADING,
    SHEET_TEXT,
    SHEET_BAR,      /* numbers: read, write or execute, destructive or financial */
    SHEET_FACTS,    /* rows of two cells */
    SHEET_TABLE,    /* the first row is the head */
    SHEET_CODE,     /* title, language, text */
    SHEET_LINKS,    /* rows of two cells: a link and a note */
    SHEET_QUESTION, /* title and text */
};

struct sheet_cell {
    struct slice text;
    struct slice link;
    struct slice mark; /* "read", "destructive", "critical"...: a colour; empty without one */
};

struct sheet_row {
    struct sheet_cell cells[PAGES_COLUMNS_MAX];
    struct sheet_row *next;
};

struct sheet_block {
    enum sheet_kind kind;
    bool detail; /* omitted in the short form */
    struct slice title, text, language;
    struct slice mark; /* of a text: a badge in that colour */
    size_t columns;
    size_t numbers[3];
    struct sheet_row *rows, *last_row;
    struct sheet_block *next;
};

struct sheet {
    struct arena *a; /* owns everything */
    const char *kind;
    struct slice id; /* its own target */
    struct slice title;
    struct slice summary; /* one line */
    struct slice facts;   /* members of the JSON form, without braces; may be empty */
    struct sheet_block *blocks, *last;
    bool detail; /* of the blocks that follow */
};

void sheet_init(struct sheet *s, struct arena *a, const char *kind);
/* A name from outside: printable, without backticks, limited in length. */
struct slice sheet_name(struct sheet *s, struct slice name);
/* "the DataGen MCP server", and "Code Mode MCP Server", which says so itself. */
struct slice sheet_server(struct slice title, struct arena *a);
void sheet_heading(struct sheet *s, const char *text, bool detail);
void sheet_text(struct sheet *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "Critical Risk", in the colour of "critical". */
void sheet_badge(struct sheet *s, const char *text, const char *mark);
void sheet_bar(struct sheet *s, size_t read, size_t changing, size_t worst);
void sheet_code(struct sheet *s, const char *title, const char *language, struct slice text);
void sheet_question(struct sheet *s, struct slice question, struct slice answer);
/* A block that rows are added to. */
void sheet_rows(struct sheet *s, enum sheet_kind kind, size_t columns);
struct sheet_row *sheet_row(struct sheet *s);
void sheet_fact(struct sheet *s, const char *key, struct slice value); /* writes nothing for an empty value */
void sheet_link(struct sheet *s, struct slice link, struct slice text, struct slice note);
