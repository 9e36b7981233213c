#include "pages/server_page.h"

#include "base/mem.h"
#include "pages/attack.h"
#include "pages/tool_page.h"
#include "wire/emit.h"

#include <stdlib.h>
#include <time.h>

static const char *plural(size_t n) { return n == 1 ? "" : "s"; }

struct slice server_page_count_line(const struct subject *s, struct arena *a) {
    if (s->count && !subject_changing(s))
        return arena_printf(a, "%zu tool%s, read-only.", s->count, plural(s->count));
    return arena_printf(a, "%zu tool%s. %zu can modify or destroy data without limits.", s->count,
                        plural(s->count), subject_changing(s));
}

static struct slice day_text(uint16_t day, struct arena *a) {
    if (!day)
        return (struct slice){0};
    time_t when = (time_t)day * 86400;
    struct tm tm;
    gmtime_r(&when, &tm);
    return arena_printf(a, "%04d-%02d-%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
}

static struct slice had_text(enum risk_had had) {
    static const char *const texts[RISK_HADS] = {"listed by the running server", "read from its source",
                                                 "taken from its documentation"};
    return slice_str(texts[had]);
}

/* ---- the head ---- */

static void put_counts(const struct subject *subject, struct slice title, struct sheet *s) {
    size_t changing = subject_changing(subject), destructive = subject->by_class[RISK_DESTRUCTIVE],
           money = subject->by_class[RISK_FINANCIAL];
    sheet_text(s, "%.*s", SLICE_FMT(s->summary));
    if (destructive)
        sheet_text(s, "%zu destructive tool%s with no built-in limits. Policy required.", destructive,
                   plural(destructive));
    if (money)
        sheet_text(s, "%zu tool%s that can move money with no built-in limits. Policy required.", money,
                   plural(money));
    sheet_bar(s, subject->by_class[RISK_READ],
              subject->by_class[RISK_WRITE] + subject->by_class[RISK_EXECUTE], destructive + money);
    static const char *const risks[] = {"Low Risk", "Medium Risk", "High Risk", "Critical Risk"};
    sheet_badge(s, risks[subject_risk(subject)], risk_severity_name(subject_risk(subject)));
    if (changing)
        sheet_text(s,
                   "%zu of %.*s's %zu tools can modify, destroy, or commit something on every call, and an "
                   "agent calls them with no built-in limits.",
                   changing, SLICE_FMT(title), subject->count);
}

static void put_about(const struct subject *subject, struct sheet *s) {
    const struct risk_published *k = &subject->known;
    struct arena *a = s->a;
    sheet_rows(s, SHEET_FACTS, 2);
    if (subject->published) {
        sheet_fact(
            s, "Registry",
            arena_printf(a, "%s, %.*s", risk_registry_name(k->registry), SLICE_FMT(sheet_name(s, k->name))));
        sheet_fact(s, "Version", subject->version);
        sheet_fact(s, "Licence", sheet_name(s, k->licence));
        sheet_fact(s, "Last release", day_text(k->released, a));
        sheet_fact(s, "Repository", sheet_name(s, k->repository));
        sheet_fact(s, "Address", sheet_name(s, k->url));
        if (k->url.len)
            sheet_fact(s, "Sign-in", slice_str(risk_auth_name(k->auth)));
        if (k->downloads)
            sheet_fact(s, "Downloads",
                       k->rank ? arena_printf(a, "%u a week, rank %u of %s", k->downloads, k->rank,
                                              risk_registry_name(k->registry))
                               : arena_printf(a, "%u a week", k->downloads));
        sheet_fact(s, "Tools known",
                   arena_printf(a, "%s%s%.*s", had_text(k->had).ptr, k->seen ? ", " : "",
                                SLICE_FMT(day_text(k->seen, a))));
    } else {
        sheet_fact(s, "Version", sheet_name(s, subject->version));
        sheet_fact(s, "Tools known", SLICE("from this scan; the catalogue does not know the server"));
    }
    sheet_fact(s, "Definitions",
               subject->tokens ? arena_printf(a, "about %llu tokens in every conversation",
                                              (unsigned long long)subject->tokens)
                               : SLICE("not seen; their token cost is unknown"));
}

/* ---- tools ---- */

static int worst_first(const void *x, const void *y) {
    const struct subject_tool *a = *(const struct subject_tool *const *)x,
                              *b = *(const struct subject_tool *const *)y;
    return a->cls != b->cls ? (int)b->cls - (int)a->cls : slice_cmp(a->name, b->name);
}

static struct slice lower(const char *text, struct arena *a) {
    char *copy = (char *)(uintptr_t)arena_dup(a, slice_str(text)).ptr;
    for (char *c = copy; *c; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
    return slice_str(copy);
}

static void put_tools(const struct subject *subject, struct sheet *s) {
    struct arena *a = s->a;
    const struct subject_tool **order = arena_array(a, const struct subject_tool *, subject->count + 1);
    for (size_t i = 0; i < subject->count; i++)
        order[i] = &subject->tools[i];
    qsort(order, subject->count, sizeof(*order), worst_first);
    struct slice target = subject_target(subject, a);
    sheet_heading(s, "Tools", false);
    sheet_rows(s, SHEET_TABLE, 5);
    static const char *const heads[] = {"Tool", "Class", "Severity", "Tokens", "Signals"};
    struct sheet_row *head = sheet_row(s);
    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        head->cells[i].text = slice_str(heads[i]);
    for (size_t i = 0; i < subject->count; i++) {
        const struct subject_tool *tool = order[i];
        struct sheet_row *row = sheet_row(s);
        const char *severity = risk_severity_name(risk_class_severity(tool->cls));
        row->cells[0].text = sheet_name(s, tool->name);
        if (target.len && !subject->t)
            row->cells[0].link = arena_printf(
                a, "tool:%.*s#%.*s", SLICE_FMT(slice_from(target, strlen("server:"))), SLICE_FMT(tool->name));
        row->cells[1].text = slice_str(risk_class_name(tool->cls));
        row->cells[1].mark = lower(risk_class_name(tool->cls), a);
        row->cells[2].text = slice_str(severity);
        row->cells[2].mark = slice_str(severity);
        row->cells[3].text = tool->tokens ? arena_printf(a, "%u", tool->tokens) : SLICE("unknown");
        row->cells[4].text = tool_page_signals(tool, s);
    }
}

/* ---- policy and set-up ---- */

static void put_policy(const struct subject *subject, struct sheet *s) {
    cleanup_buf struct buf yaml, json;
    buf_init(&yaml, PAGES_BYTES_MAX);
    buf_init(&json, PAGES_BYTES_MAX);
    subject_policy(subject, SIZE_MAX, RISK_DIALECT_INTERCEPT, s->a, &yaml);
    subject_policy(subject, SIZE_MAX, RISK_DIALECT_POLICYLAYER, s->a, &json);
    sheet_heading(s, "Starter policy", true);
    sheet_text(
        s, "%s To ask a person instead, write require_approval in place of deny. Both texts say the same.",
        risk_starter_plan);
    sheet_code(s, "policy.yaml (Intercept)", "yaml", buf_slice(&yaml));
    sheet_code(s, "policy.json (PolicyLayer)", "json", buf_slice(&json));
}

/* The command line of the server, in the arena. */
static size_t start_words(const struct subject *subject, struct slice words[], size_t max, struct sheet *s) {
    const struct risk_published *k = &subject->known;
    struct arena *a = s->a;
    size_t n = 0;
    if (subject->command_count || !subject->published) {
        for (size_t i = 0; i < subject->command_count && n < max; i++)
            words[n++] = sheet_name(s, subject->command[i]);
        words[n] = SLICE("CMD");
        return n ? n : 1;
    }
    struct slice name = sheet_name(s, k->name), command = sheet_name(s, k->command);
    switch (k->registry) {
    case RISK_NPM:
        words[n++] = SLICE("npx");
        words[n++] = SLICE("-y");
        words[n++] = arena_printf(a, "%.*s@%.*s", SLICE_FMT(name), SLICE_FMT(k->version));
        break;
    case RISK_PYPI:
        words[n++] = SLICE("uvx");
        if (command.len) {
            words[n++] = SLICE("--from");
            words[n++] = arena_printf(a, "%.*s==%.*s", SLICE_FMT(name), SLICE_FMT(k->version));
            words[n++] = command;
        } else {
            words[n++] = arena_printf(a, "%.*s==%.*s", SLICE_FMT(name), SLICE_FMT(k->version));
        }
        break;
    case RISK_OCI:
        words[n++] = SLICE("docker");
        words[n++] = SLICE("run");
        words[n++] = SLICE("-i");
        words[n++] = SLICE("--rm");
        words[n++] = arena_printf(a, "%.*s:%.*s", SLICE_FMT(name), SLICE_FMT(k->version));
        break;
    case RISK_GO:
        words[n++] = SLICE("go");
        words[n++] = SLICE("run");
        words[n++] = arena_printf(a, "%.*s@%.*s", SLICE_FMT(name), SLICE_FMT(k->version));
        break;
    default:
        words[n++] = command.len ? command : SLICE("CMD");
    }
    for (uint32_t i = 0; i < k->args.count && n < max; i++)
        words[n++] = sheet_name(s, risk_catalogue_item(k->args, i));
    return n;
}

static void put_words(struct emit *e, const struct slice *words, size_t count) {
    emit_array(e);
    for (size_t i = 0; i < count; i++)
        emit_str(e, words[i]);
    emit_array_end(e);
}

/* A member of `mcpServers` (or `servers`) with the gate in front. */
static void put_client_json(const char *key, const char *type, const char *name, const struct slice *words,
                            size_t count, struct buf *out) {
    struct emit e;
    emit_init(&e, out);
    buf_printf(out, "{\n  \"%s\": {\n    ", key);
    emit_quote(out, slice_str(name));
    buf_printf(out, ": {\n      %s\"command\": \"sallyport\",\n      \"args\": ", type);
    put_words(&e, words, count);
    buf_put_str(out, "\n    }\n  }\n}\n");
}

static void put_shell(struct buf *out, const struct slice *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        bool plain = words[i].len > 0;
        for (size_t k = 0; k < words[i].len; k++)
            plain = plain && (strchr("@%+=:,./-_", words[i].ptr[k]) ||
                              (words[i].ptr[k] >= '0' && words[i].ptr[k] <= '9') ||
                              ((words[i].ptr[k] | 32) >= 'a' && (words[i].ptr[k] | 32) <= 'z'));
        buf_put_str(out, i ? " " : "");
        if (plain) {
            buf_put_slice(out, words[i]);
            continue;
        }
        buf_put_char(out, '\'');
        for (size_t k = 0; k < words[i].len; k++)
            if (words[i].ptr[k] == '\'')
                buf_put_str(out, "'\\''");
            else
                buf_put_char(out, words[i].ptr[k]);
        buf_put_char(out, '\'');
    }
    buf_put_char(out, '\n');
}

/* How a server is started behind the gate, and the clients' settings for it. */
static void put_setup(const struct subject *subject, struct sheet *s) {
    enum { WORDS = 48, HEAD = 4 };
    struct slice words[WORDS + HEAD] = {SLICE("-c"), SLICE("policy.yaml"), SLICE("--")};
    size_t n = 3;
    struct slice url = subject->url.len ? subject->url : subject->published ? subject->known.url : SLICE("");
    if (url.len && !subject->command_count) {
        words[2] = SLICE("--upstream");
        words[n++] = sheet_name(s, url);
    } else {
        n += start_words(subject, words + n, WORDS, s);
    }
    cleanup_buf struct buf name, text;
    buf_init(&name, PAGES_NAME_MAX);
    for (size_t i = 0; i < subject->name.len && name.len < 40; i++) {
        char c = subject->name.ptr[i];
        bool plain = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
        if (plain || (name.len && name.ptr[name.len - 1] != '-'))
            buf_put_char(&name, plain ? c : '-');
    }
    buf_put_char(&name, '\0');
    buf_init(&text, PAGES_BYTES_MAX);
    sheet_heading(s, "Run it behind the gate", true);
    struct slice line[WORDS + HEAD + 1] = {SLICE("sallyport")};
    memcpy(line + 1, words, n * sizeof(*words));
    put_shell(&text, line, n + 1);
    sheet_code(s, "shell", "sh", buf_slice(&text));
    buf_reset(&text);
    put_client_json("mcpServers", "", name.ptr, words, n, &text);
    sheet_code(s, "Claude Desktop, Cursor, Windsurf, .mcp.json", "json", buf_slice(&text));
    buf_reset(&text);
    put_client_json("servers", "\"type\": \"stdio\",\n      ", name.ptr, words, n, &text);
    sheet_code(s, "VS Code, .vscode/mcp.json", "json", buf_slice(&text));
    buf_reset(&text);
    struct emit e;
    emit_init(&e, &text);
    buf_printf(&text, "[mcp_servers.%s]\ncommand = \"sallyport\"\nargs = ", name.ptr);
    put_words(&e, words, n);
    buf_put_char(&text, '\n');
    sheet_code(s, "Codex, ~/.codex/config.toml", "toml", buf_slice(&text));
    buf_reset(&text);
    struct slice add[WORDS + HEAD + 6] = {SLICE("claude"),     SLICE("mcp"), SLICE("add"),
                                          slice_str(name.ptr), SLICE("--"),  SLICE("sallyport")};
    memcpy(add + 6, words, n * sizeof(*words));
    put_shell(&text, add, n + 6);
    sheet_code(s, "Claude Code", "sh", buf_slice(&text));
    for (uint32_t i = 0; subject->published && i < subject->known.env.count; i++) {
        if (!i)
            sheet_text(s, "Variables that it asks for:");
        struct slice variable = sheet_name(s, risk_catalogue_item(subject->known.env, i));
        sheet_text(s, "`%.*s`", SLICE_FMT(variable));
    }
    sheet_text(s, "`sallyport init` does this for every server of every client that it finds, with a preview "
                  "and an undo.");
}

/* ---- versions ---- */

static const struct risk_known *find_tool(const struct risk_known *list, size_t count, struct slice name) {
    for (size_t i = 0; i < count; i++)
        if (slice_eq(list[i].tool, name))
            return &list[i];
    return NULL;
}

static struct risk_known *tools_of(const struct risk_published *s, struct arena *a) {
    struct risk_known *list = arena_array(a, struct risk_known, s->tools + 1);
    for (size_t i = 0; i < s->tools; i++)
        risk_catalogue_get(s->first + i, &list[i]);
    return list;
}

static void put_change(struct sheet *s, size_t *left, const struct risk_published *at, const char *what,
                       struct slice tool) {
    if (!*left)
        return;
    --*left;
    struct sheet_row *row = sheet_row(s);
    row->cells[0].text = at->version;
    row->cells[1].text = slice_str(what);
    row->cells[2].text = sheet_name(s, tool);
}

static void put_changes(struct sheet *s, size_t *left, const struct risk_published *old,
                        const struct risk_published *now) {
    struct risk_known *before = tools_of(old, s->a), *after = tools_of(now, s->a);
    for (size_t i = 0; i < now->tools; i++) {
        const struct risk_known *was = find_tool(before, old->tools, after[i].tool);
        if (!was)
            put_change(s, left, now, "added", after[i].tool);
        else if (was->cls != after[i].cls)
            put_change(s, left, now, "another class", after[i].tool);
        else if (was->shape != after[i].shape)
            put_change(s, left, now, "other parameters", after[i].tool);
        else if (was->full != after[i].full)
            put_change(s, left, now, "other words", after[i].tool);
    }
    for (size_t i = 0; i < old->tools; i++)
        if (!find_tool(after, now->tools, before[i].tool))
            put_change(s, left, now, "removed", before[i].tool);
}

static void put_versions(const struct subject *subject, struct sheet *s) {
    size_t first, count = subject->published
                              ? risk_catalogue_versions(subject->known.registry, subject->known.name, &first)
                              : 0;
    if (!count)
        return;
    sheet_heading(s, "Versions", true);
    sheet_rows(s, SHEET_FACTS, 2);
    struct risk_published v, before;
    for (size_t i = count; i-- > 0;) {
        risk_catalogue_server(first + i, &v);
        struct slice day = v.released ? day_text(v.released, s->a) : day_text(v.seen, s->a);
        struct sheet_row *row = sheet_row(s);
        row->cells[0].text = v.version.len ? v.version : SLICE("as seen");
        row->cells[1].text = arena_printf(s->a, "%zu tool%s, %s %.*s", v.tools, plural(v.tools),
                                          v.released ? "released" : "seen", SLICE_FMT(day));
    }
    if (count == 1) {
        sheet_text(s, "One version is known, so nothing can be said about changes.");
        return;
    }
    size_t left = PAGES_CHANGES_MAX;
    sheet_rows(s, SHEET_TABLE, 3);
    struct sheet_row *head = sheet_row(s);
    head->cells[0].text = SLICE("Since");
    head->cells[1].text = SLICE("Change");
    head->cells[2].text = SLICE("Tool");
    for (size_t i = count; i-- > 1;) {
        risk_catalogue_server(first + i, &v);
        risk_catalogue_server(first + i - 1, &before);
        put_changes(s, &left, &before, &v);
    }
    if (!left)
        sheet_text(s, "Only the newest %d changes are listed.", PAGES_CHANGES_MAX);
}

/* ---- relatives and questions ---- */

static void put_similar(const struct subject *subject, struct sheet *s) {
    size_t servers[PAGES_RELATED_MAX], n = subject_similar(subject, s->a, servers, ARRAY_LEN(servers));
    if (!n)
        return;
    sheet_heading(s, "Servers with similar tools", true);
    sheet_rows(s, SHEET_LINKS, 2);
    for (size_t i = 0; i < n; i++) {
        struct subject other;
        subject_from_catalogue(servers[i], s->a, &other);
        sheet_link(s, subject_target(&other, s->a), sheet_name(s, other.title),
                   server_page_count_line(&other, s->a));
    }
}

static struct slice first_of(const struct subject *subject, enum risk_class cls, struct sheet *s) {
    for (size_t i = 0; i < subject->count; i++)
        if (subject->tools[i].cls == cls)
            return sheet_name(s, subject->tools[i].name);
    return (struct slice){0};
}

static void put_questions(const struct subject *subject, struct slice title, struct sheet *s) {
    struct arena *a = s->a;
    size_t worst = subject->by_class[RISK_DESTRUCTIVE];
    sheet_heading(s, "Questions", true);
    struct slice tool = first_of(subject, RISK_DESTRUCTIVE, s);
    sheet_question(
        s, arena_printf(a, "Can an AI agent delete data through %.*s?", SLICE_FMT(sheet_server(title, a))),
        worst ? arena_printf(a,
                             "Yes. The server exposes %zu destructive tool%s%s `%.*s`. What %s cannot be "
                             "brought back through the server. The starter policy refuses %s, so that no "
                             "call reaches the server.",
                             worst, plural(worst), worst == 1 ? ":" : ", including", SLICE_FMT(tool),
                             worst == 1 ? "it removes" : "they remove", worst == 1 ? "it" : "them")
              : arena_printf(a,
                             "No tool of it is classified as destructive. %zu can still change or run "
                             "something; the starter policy limits them.",
                             subject_changing(subject)));
    tool = first_of(subject, RISK_WRITE, s);
    if (tool.len)
        sheet_question(
            s, arena_printf(a, "How do I prevent bulk modifications through %.*s?", SLICE_FMT(title)),
            arena_printf(a,
                         "The server has %zu write tool%s including `%.*s`. Set a rate limit: with 30 an "
                         "hour the gate refuses the thirty-first call before it reaches the server.",
                         subject->by_class[RISK_WRITE], plural(subject->by_class[RISK_WRITE]),
                         SLICE_FMT(tool)));
    cleanup_buf struct buf classes;
    buf_init(&classes, PAGES_NAME_MAX);
    size_t kinds = 0;
    for (int cls = RISK_CLASSES - 1; cls > RISK_NONE; cls--)
        if (subject->by_class[cls])
            buf_printf(&classes, "%s%s", kinds++ ? ", " : "", risk_class_name((enum risk_class)cls));
    sheet_question(s, arena_printf(a, "How many tools does %.*s expose?", SLICE_FMT(sheet_server(title, a))),
                   arena_printf(a,
                                "%zu tool%s across %zu categor%s: %.*s. %zu are read-only. %zu can modify, "
                                "create, or delete data.",
                                subject->count, plural(subject->count), kinds, kinds == 1 ? "y" : "ies",
                                SLICE_FMT(buf_slice(&classes)), subject->by_class[RISK_READ],
                                subject_changing(subject)));
    sheet_question(s, arena_printf(a, "How do I enforce a policy on %.*s?", SLICE_FMT(title)),
                   SLICE("Save the starter policy, adjust its limits, and put `sallyport -c policy.yaml --` "
                         "in front of the server's command in your client's settings. The agent keeps the "
                         "same tools; every call is judged before it reaches the server."));
}

static void put_facts(const struct subject *subject, struct sheet *s) {
    cleanup_buf struct buf out;
    buf_init(&out, PAGES_BYTES_MAX);
    struct emit e;
    emit_init(&e, &out);
    if (subject->published) {
        emit_key(&e, "registry");
        emit_cstr(&e, risk_registry_name(subject->known.registry));
        emit_key(&e, "had");
        emit_cstr(&e, risk_had_name(subject->known.had));
    }
    emit_key(&e, "name");
    emit_str(&e, subject->name);
    emit_key(&e, "version");
    emit_str(&e, subject->version);
    emit_key(&e, "risk");
    emit_cstr(&e, risk_severity_name(subject_risk(subject)));
    emit_key(&e, "tokens");
    emit_int(&e, (int64_t)subject->tokens);
    emit_key(&e, "tools");
    emit_array(&e);
    for (size_t i = 0; i < subject->count; i++)
        tool_page_put_facts(&subject->tools[i], &e);
    emit_array_end(&e);
    s->facts = arena_dup(s->a, buf_slice(&out));
}

void server_page(const struct subject *subject, struct sheet *s) {
    struct slice title = sheet_name(s, subject->title);
    s->title = title;
    s->id = subject_target(subject, s->a);
    s->summary = server_page_count_line(subject, s->a);
    put_facts(subject, s);
    put_counts(subject, title, s);
    put_about(subject, s);
    put_tools(subject, s);
    for (size_t i = 0; subject->t && i < subject->count; i++)
        tool_page_put_section(&subject->tools[i], s);
    put_policy(subject, s);
    put_setup(subject, s);
    put_versions(subject, s);
    const struct attack *attacks[PAGES_PATTERNS_MAX];
    size_t n = attack_of_server(subject, attacks, ARRAY_LEN(attacks));
    if (n) {
        sheet_heading(s, "Documented attack patterns that use this kind of access", true);
        attack_put_links(s, attacks, n);
    }
    put_similar(subject, s);
    put_questions(subject, title, s);
}
