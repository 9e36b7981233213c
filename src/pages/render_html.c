/* HTML: one page of the site, or a standalone page. It loads nothing from other hosts. */
#include "pages/render.h"

#include "base/mem.h"

static const char style[] =
    ":root{color-scheme:light "
    "dark;--bg:#fff;--fg:#1b1f24;--muted:#5b6570;--line:#d9dee3;--panel:#f6f8fa;--link:#0b57d0;"
    "--read:#1a7f37;--write:#9a6700;--execute:#8250df;--worst:#c5221f}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#0f1318;--fg:#e3e8ee;--muted:#9aa5b1;--line:#2d343c;--"
    "panel:#171c22;"
    "--link:#7cb0ff;--read:#4ac26b;--write:#d4a72c;--execute:#b393f5;--worst:#ff7b72}}\n"
    "*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.55 "
    "system-ui,sans-serif}\n"
    "main,header{max-width:60rem;margin:0 auto;padding:0 "
    "1rem}header{padding-top:1rem}main{padding-bottom:4rem}\n"
    "a{color:var(--link);text-decoration:none}a:hover,a:focus{text-decoration:underline}\n"
    "h1{font-size:1.8rem;margin:1rem 0 .2rem;overflow-wrap:anywhere}h2{font-size:1.25rem;margin:2.2rem 0 "
    ".6rem}\n"
    "h2 a{color:inherit}.muted{color:var(--muted)}\n"
    ".table{overflow-x:auto}table{border-collapse:collapse;width:100%}\n"
    "th,td{text-align:left;padding:.35rem .6rem;border-bottom:1px solid "
    "var(--line);vertical-align:top}\n"
    "th{white-space:nowrap}td:first-child{overflow-wrap:anywhere;min-width:11rem}td "
    "[class^=m-]{white-space:nowrap}\n"
    ".badge{display:inline-block;border:1px solid;border-radius:1em;padding:.05em "
    ".7em;font-size:.9rem;font-weight:600}\n"
    "th{color:var(--muted);font-weight:600}dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem "
    "1.2rem;margin:.5rem 0}\n"
    "dt{color:var(--muted)}dd{margin:0;overflow-wrap:anywhere}\n"
    "code,pre{font:13.5px/1.5 ui-monospace,monospace}code{background:var(--panel);padding:.1em "
    ".3em;border-radius:4px}\n"
    "pre{background:var(--panel);border:1px solid "
    "var(--line);border-radius:8px;padding:.8rem;overflow:auto;max-height:28rem;margin:.3rem 0}\n"
    ".code{position:relative;margin:.8rem 0}.code>span{color:var(--muted);font-size:.85rem}\n"
    "button{font:inherit;font-size:.85rem;border:1px solid "
    "var(--line);background:var(--bg);color:var(--fg);border-radius:6px;"
    "padding:.15rem .6rem;cursor:pointer;float:right}\n"
    ".bar{display:flex;height:.8rem;border-radius:6px;overflow:hidden;margin:.4rem 0}.bar i{display:block}\n"
    ".bar .read{background:var(--read)}.bar .changing{background:var(--write)}.bar "
    ".worst{background:var(--worst)}\n"
    ".m-read,.m-low{color:var(--read)}.m-write,.m-medium{color:var(--write)}.m-execute,.m-high{color:var(--"
    "execute)}\n"
    ".m-destructive,.m-financial,.m-critical{color:var(--worst);font-weight:600}\n"
    "details{border-bottom:1px solid var(--line);padding:.5rem 0}summary{cursor:pointer;font-weight:600}\n"
    "input[type=search]{width:100%;font:inherit;padding:.5rem .8rem;border:1px solid "
    "var(--line);border-radius:8px;"
    "background:var(--bg);color:var(--fg)}#found{list-style:none;padding:0}#found li{padding:.3rem "
    "0;border-bottom:1px solid var(--line)}\n";

/* Copy buttons everywhere; the search on the first page, over the names that index.js has. A page of just
 * that name comes first: it is never among those that are left out. */
static const char script[] =
    "document.addEventListener('click',e=>{const b=e.target.closest('button[data-copy]');if(!b)return;"
    "const t=b.parentElement.querySelector('pre').textContent;const done=()=>{b.textContent='Copied'};"
    "if(navigator.clipboard)navigator.clipboard.writeText(t).then(done,()=>0);"
    "else{const r=document.createRange();r.selectNodeContents(b.parentElement.querySelector('pre'));"
    "getSelection().removeAllRanges();getSelection().addRange(r);document.execCommand('copy');done()}});\n"
    "const box=document.querySelector('#search');if(box){const out=document.querySelector('#found'),"
    "told=document.querySelector('#told');\n"
    "const look=()=>{const words=box.value.toLowerCase().split(/\\s+/).filter(Boolean);out.textContent='';"
    "location.replace('#q='+encodeURIComponent(box.value));"
    "if(!words.length){told.textContent='';document.querySelector('#all').hidden=false;return}"
    "document.querySelector('#all').hidden=true;"
    "const hits=[],whole=box.value.trim().toLowerCase(),add=(path,name,server,...names)=>hits.push([path,"
    "name,server,names.some(x=>x.toLowerCase()===whole)]);"
    "for(const s of window.catalogue){const own=(s[0]+' '+s[1]).toLowerCase();"
    "if(words.every(w=>own.includes(w)))add(s[2],s[1]||s[0],s[0],s[0],s[1]);"
    "for(const t of s[3]){if(words.every(w=>t[0].toLowerCase().includes(w)||own.includes(w))"
    "&&words.some(w=>t[0].toLowerCase().includes(w)))add(t[1],t[0],s[0],t[0])}}"
    "hits.sort((a,b)=>b[3]-a[3]);const n=hits.length;hits.length=Math.min(n,200);"
    "for(const h of hits){const li=document.createElement('li'),a=document.createElement('a'),"
    "m=document.createElement('span');a.href=h[0];a.textContent=h[1];m.textContent='  "
    "'+h[2];m.className='muted';"
    "li.append(a,m);out.append(li)}"
    "told.textContent=n+(n===1?' page':' pages')+(n>hits.length?', the first '+hits.length+' are "
    "shown':'')};\n"
    "box.addEventListener('input',look);const linked=()=>{const m=/^#q=(.*)/.exec(location.hash),"
    "q=m?decodeURIComponent(m[1]):'';if(q!==box.value){box.value=q;look()}};"
    "addEventListener('hashchange',linked);linked()}\n";

struct slice render_style(void) {
    return SLICE(style);
}
struct slice render_script(void) {
    return SLICE(script);
}

void render_escape(struct buf *out, struct slice text) {
    for (size_t i = 0; i < text.len; i++) {
        switch (text.ptr[i]) {
        case '&':
            buf_put_str(out, "&amp;");
            break;
        case '<':
            buf_put_str(out, "&lt;");
            break;
        case '>':
            buf_put_str(out, "&gt;");
            break;
        case '"':
            buf_put_str(out, "&quot;");
            break;
        case '\'':
            buf_put_str(out, "&#39;");
            break;
        default:
            buf_put_char(out, text.ptr[i]);
        }
    }
}

/* Plain characters stay; every other byte becomes ~XX, so that two names never share a file and no name
 * leads out of the folder. */
static void put_path(struct buf *out, struct slice text, bool keep_slash) {
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     strchr("@_-", c) || (c == '.' && i && text.ptr[i - 1] != '/') ||
                     (c == '/' && keep_slash && i);
        if (plain && c)
            buf_put_char(out, (char)c);
        else
            buf_printf(out, "~%02X", c);
    }
}

struct slice render_path(struct slice target, struct arena *a) {
    struct slice kind, tool = {0};
    cleanup_buf struct buf path;
    buf_init(&path, PAGES_BYTES_MAX);
    slice_cut(&target, ':', &kind);
    if (slice_is(kind, "tool")) {
        struct slice rest = target;
        slice_cut(&rest, '#', &target);
        tool = rest;
    }
    buf_put_str(&path, slice_is(kind, "attack") ? "attacks/" : "servers/");
    put_path(&path, target, true);
    if (slice_is(kind, "tool")) {
        buf_put_str(&path, "/~tools/");
        put_path(&path, tool, false);
    }
    buf_put_str(&path, slice_is(kind, "server") ? "/index.html" : ".html");
    return arena_dup(a, buf_slice(&path));
}

static void put_text(struct buf *out, struct slice text) {
    bool code = false;
    struct slice part;
    while (text.len) {
        bool more = slice_cut(&text, '`', &part);
        render_escape(out, part);
        if (more) {
            buf_put_str(out, code ? "</code>" : "<code>");
            code = !code;
        }
    }
    if (code)
        buf_put_str(out, "</code>");
}

static void put_cell(const struct sheet *s, const struct sheet_cell *cell, const char *root,
                     struct buf *out) {
    bool link = root && cell->link.len;
    if (link) {
        struct slice path = render_path(cell->link, s->a);
        buf_printf(out, "<a href=\"%s%.*s\">", root, SLICE_FMT(path));
    }
    if (cell->mark.len)
        buf_printf(out, "<span class=\"m-%.*s\">", SLICE_FMT(cell->mark));
    put_text(out, cell->text);
    buf_put_str(out, cell->mark.len ? "</span>" : "");
    buf_put_str(out, link ? "</a>" : "");
}

static void put_table(const struct sheet *s, const struct sheet_block *b, const char *root, struct buf *out) {
    buf_put_str(out, "<div class=\"table\"><table>\n");
    for (const struct sheet_row *row = b->rows; row; row = row->next) {
        const char *tag = row == b->rows ? "th" : "td";
        buf_put_str(out, "<tr>");
        for (size_t i = 0; i < b->columns; i++) {
            buf_printf(out, "<%s>", tag);
            put_cell(s, &row->cells[i], root, out);
            buf_printf(out, "</%s>", tag);
        }
        buf_put_str(out, "</tr>\n");
    }
    buf_put_str(out, "</table></div>\n");
}

static void put_list(const struct sheet *s, const struct sheet_block *b, const char *root, struct buf *out) {
    bool facts = b->kind == SHEET_FACTS;
    buf_put_str(out, facts ? "<dl>\n" : "<ul>\n");
    for (const struct sheet_row *row = b->rows; row; row = row->next) {
        buf_put_str(out, facts ? "<dt>" : "<li>");
        put_cell(s, &row->cells[0], root, out);
        buf_put_str(out, facts ? "</dt><dd>" : " <span class=\"muted\">");
        put_cell(s, &row->cells[1], root, out);
        buf_put_str(out, facts ? "</dd>\n" : "</span></li>\n");
    }
    buf_put_str(out, facts ? "</dl>\n" : "</ul>\n");
}

static void put_bar(const struct sheet_block *b, struct buf *out) {
    static const char *const classes[] = {"read", "changing", "worst"};
    size_t total = b->numbers[0] + b->numbers[1] + b->numbers[2];
    buf_printf(out,
               "<p>Read (%zu) Write / Execute (%zu) Destructive / Financial (%zu)</p>\n<div class=\"bar\" "
               "aria-hidden=\"true\">",
               b->numbers[0], b->numbers[1], b->numbers[2]);
    for (int i = 0; total && i < 3; i++)
        buf_printf(out, "<i class=\"%s\" style=\"width:%.1f%%\"></i>", classes[i],
                   100.0 * (double)b->numbers[i] / (double)total);
    buf_put_str(out, "</div>\n");
}

/* A heading can be linked to: its letters and digits, in lower case. */
static void put_heading(struct slice text, struct buf *out) {
    cleanup_buf struct buf id;
    buf_init(&id, PAGES_NAME_MAX);
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        c = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
        bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (plain || (id.len && id.ptr[id.len - 1] != '-'))
            buf_put_char(&id, plain ? c : '-');
    }
    buf_printf(out, "<h2 id=\"%.*s\"><a href=\"#%.*s\">", SLICE_FMT(buf_slice(&id)),
               SLICE_FMT(buf_slice(&id)));
    put_text(out, text);
    buf_put_str(out, "</a></h2>\n");
}

static void put_block(const struct sheet *s, const struct sheet_block *b, const char *root, struct buf *out) {
    switch (b->kind) {
    case SHEET_HEADING:
        put_heading(b->text, out);
        break;
    case SHEET_TEXT:
        buf_put_str(out, "<p>");
        if (b->mark.len)
            buf_printf(out, "<span class=\"badge m-%.*s\">", SLICE_FMT(b->mark));
        put_text(out, b->text);
        buf_put_str(out, b->mark.len ? "</span></p>\n" : "</p>\n");
        break;
    case SHEET_BAR:
        put_bar(b, out);
        break;
    case SHEET_TABLE:
        put_table(s, b, root, out);
        break;
    case SHEET_FACTS:
    case SHEET_LINKS:
        put_list(s, b, root, out);
        break;
    case SHEET_CODE:
        buf_put_str(out, "<div class=\"code\"><button type=\"button\" data-copy>Copy</button><span>");
        render_escape(out, b->title);
        buf_put_str(out, "</span><pre>");
        render_escape(out, b->text);
        buf_put_str(out, "</pre></div>\n");
        break;
    case SHEET_QUESTION:
        buf_put_str(out, "<details><summary>");
        put_text(out, b->title);
        buf_put_str(out, "</summary><p>");
        put_text(out, b->text);
        buf_put_str(out, "</p></details>\n");
        break;
    }
}

void render_html(const struct sheet *s, const struct render_options *options, struct buf *out) {
    const char *root = options->root;
    buf_put_str(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                     "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>");
    render_escape(out, s->title);
    buf_put_str(out, "</title>\n<meta name=\"description\" content=\"");
    render_escape(out, s->summary);
    buf_put_str(out, "\">\n");
    if (root)
        buf_printf(out,
                   "<link rel=\"stylesheet\" href=\"%ssite.css\"><script src=\"%ssite.js\" defer></script>\n",
                   root, root);
    else
        buf_printf(out, "<style>%s</style><script>addEventListener('DOMContentLoaded',()=>{%s})</script>\n",
                   style, script);
    buf_put_str(out, "</head><body>\n");
    if (root)
        buf_printf(out,
                   "<header><a href=\"%sindex.html\">Catalogue</a> <span class=\"muted\">/</span> "
                   "<a href=\"%sattacks/index.html\">Attack patterns</a></header>\n",
                   root, root);
    buf_put_str(out, "<main>\n<h1>");
    put_text(out, s->title);
    buf_put_str(out, "</h1>\n");
    for (const struct sheet_block *b = s->blocks; b; b = b->next)
        put_block(s, b, root, out);
    buf_put_str(out, "</main></body></html>\n");
}
