/* The output formats of a page. */
#pragma once

#include "pages/sheet.h"

enum render_form { RENDER_TEXT, RENDER_MARKDOWN, RENDER_HTML, RENDER_JSON };

struct render_options {
    enum render_form form;
    bool colour; /* text */
    bool all;    /* text: includes what the short form omits */
    /* HTML: the relative path of the site's root ("../../"); NULL: a standalone page, without links to
     * others and with style and script inside. */
    const char *root;
};

void render_sheet(const struct sheet *s, const struct render_options *options, struct buf *out);
/* The site's file for a target: "s/npm/%40scope/name.html". Plain characters only. In the arena. */
struct slice render_path(struct slice target, struct arena *a);
/* The site's shared files. */
struct slice render_style(void);
struct slice render_script(void);
/* & < > " ' as HTML wants them. */
void render_escape(struct buf *out, struct slice text);

/* Private to the room. */
void render_text(const struct sheet *s, const struct render_options *options, struct buf *out);
void render_markdown(const struct sheet *s, struct buf *out);
void render_html(const struct sheet *s, const struct render_options *options, struct buf *out);
void render_json(const struct sheet *s, struct buf *out);
