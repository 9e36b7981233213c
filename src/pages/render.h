/* The forms of a page. */
#pragma once

#include "pages/sheet.h"

enum render_form { RENDER_TEXT, RENDER_MARKDOWN, RENDER_HTML, RENDER_JSON };

struct render_options {
    enum render_form form;
    bool colour; /* text */
    bool all;    /* text: also what the short form leaves out */
    /* HTML: how the site's root is reached from this page ("../../"); NULL: a page of its own, without links
     * to others and with style and script inside. */
    const char *root;
};

void render_sheet(const struct sheet *s, const struct render_options *options, struct buf *out);
/* Where the site keeps the page of a target: "s/npm/%40scope/name.html". Plain characters only. In the arena.
 */
struct slice render_path(struct slice target, struct arena *a);
/* The site's shared files. */
struct slice render_style(void);
struct slice render_script(void);
/* & < > " ' as HTML wants them. */
void render_escape(struct buf *out, struct slice text);

/* Inside the room. */
void render_text(const struct sheet *s, const struct render_options *options, struct buf *out);
void render_markdown(const struct sheet *s, struct buf *out);
void render_html(const struct sheet *s, const struct render_options *options, struct buf *out);
void render_json(const struct sheet *s, struct buf *out);
