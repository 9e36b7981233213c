/* doctor: the servers of the settings. Each is started and queried for its tools, as `scan` does. */
#include "base/glyph.h"
#include "base/mem.h"
#include "cli/ask.h"
#include "cli/doctor.h"
#include "risk/executable.h"
#include "wire/mask.h"

#include <stdlib.h>
#include <string.h>

/* Packages of the common launchers of servers. */
static const struct {
    const char *command;
    const char *fix;
} starters[] = {
    {"npx", "apt install nodejs npm"},
    {"node", "apt install nodejs npm"},
    {"npm", "apt install nodejs npm"},
    {"uvx", "install uv (https://docs.astral.sh/uv), or `pipx install uv`"},
    {"uv", "install uv (https://docs.astral.sh/uv), or `pipx install uv`"},
    {"pipx", "apt install pipx"},
    {"python", "apt install python3, and write `python3`"},
    {"python3", "apt install python3"},
    {"docker", "apt install docker.io"},
};

static const char *how_to_get(const char *command) {
    for (size_t i = 0; i < ARRAY_LEN(starters); i++)
        if (strcmp(command, starters[i].command) == 0)
            return starters[i].fix;
    return "install it, or give the whole path as the server's `command`";
}

/* The PATH that the server gets. */
static const char *path_of(const struct settings_server *s) {
    for (size_t i = 0; i < s->env.count; i++)
        if (strncmp(s->env.items[i], "PATH=", 5) == 0)
            return s->env.items[i] + 5;
    return getenv("PATH");
}

/* A problem that starting it would report less clearly; false when there is none. */
static bool note_before(struct doctor_findings *all, const struct cli_mcpserver *s) {
    struct doctor_finding *f = NULL;
    const char *command = s->url ? NULL : s->from->argv.items[0];
    if (s->impostor.refuse) {
        f = cli_doctor_note(all, DOCTOR_BAD, "server", s->name,
                            "not started: its package has nearly the name of %.*s (score %u: %.*s)",
                            SLICE_FMT(s->impostor.of), s->impostor.score, SLICE_FMT(s->impostor.reasons));
        f->fix = arena_printf(
            &all->arena,
            "write %.*s if that is meant, else run: sallyport catalogue trust --registry %s %.*s",
            SLICE_FMT(s->impostor.of), risk_registry_name(s->supply.registry), SLICE_FMT(s->supply.package));
    } else if (command && !risk_executable_found(slice_str(command), s->from->cwd, path_of(s->from))) {
        f = cli_doctor_note(all, DOCTOR_BAD, "server", s->name, "there is no program `%s`", command);
        f->fix = slice_str(how_to_get(command));
    }
    return f != NULL;
}

static void note_answer(struct doctor_findings *all, struct cli_asked *a, bool no_start) {
    const struct cli_mcpserver *s = a->server;
    if (a->listed) {
        size_t tools = 0;
        TAPE_FOR_ELEM(&a->list.tape, a->list.tools, i)
        tools++;
        cli_doctor_note(all, DOCTOR_GOOD, "server", s->name, "answers, %zu tools", tools);
        return;
    }
    if (no_start) {
        cli_doctor_note(all, DOCTOR_GOOD, "server", s->name,
                        s->url ? "not contacted" : "program found, not started");
        return;
    }
    struct slice why = glyph_printable(slice_str(a->err.text), sizeof(a->err.text), &all->arena);
    struct doctor_finding *f = cli_doctor_note(all, DOCTOR_BAD, "server", s->name, "%.*s", SLICE_FMT(why));
    const bool refused = strstr(a->err.text, "401") || strstr(a->err.text, "403");
    struct slice url = s->url ? mask_url(slice_str(s->url), &all->arena) : (struct slice){0};
    if (s->url && refused)
        f->fix = arena_printf(&all->arena,
                              "give it a header with a token that it knows, or: sallyport login --url %.*s",
                              SLICE_FMT(url));
    else if (s->url)
        f->fix = arena_printf(&all->arena, "see that it runs, and that this machine reaches it: curl -i %.*s",
                              SLICE_FMT(url));
    else
        f->fix =
            SLICE("run its command by hand and read its stderr; give a slow server more time with --timeout");
}

void cli_doctor_servers(struct doctor_findings *all, const struct doctor_options *opt,
                        const struct settings *settings) {
    cleanup_asking struct cli_asking asking;
    cli_asking_init(&asking);
    struct cli_mcpconfig *c = &asking.config;
    c->servers = arena_array(&c->arena, struct cli_mcpserver, settings->server_count + 1);
    for (size_t i = 0; i < settings->server_count; i++) {
        const struct settings_server *server = &settings->servers[i];
        if (settings->code.enabled && strcmp(server->name, "code") == 0) {
            struct doctor_finding *f = cli_doctor_note(all, DOCTOR_BAD, "server", server->title,
                                                       "this is the name of the built-in server");
            f->fix = SLICE("call it something else, or write code: {enabled: false}");
            continue;
        }
        if (server->disabled) {
            cli_doctor_note(all, DOCTOR_GOOD, "server", server->title, "disabled");
            continue;
        }
        cli_mcpconfig_add(c, server);
        if (note_before(all, &c->servers[c->count - 1]))
            c->count--;
    }
    const struct cli_ask_options ask = {.timeout_ms = opt->timeout_ms, .no_start = opt->no_start};
    struct err err = {0};
    if (c->count && cli_ask_found(&asking, &ask, &err) != CLI_OK) {
        cli_doctor_note(all, DOCTOR_BAD, "server", "", "%s", err.text);
        return;
    }
    for (size_t i = 0; i < asking.count; i++)
        note_answer(all, &asking.asked[i], opt->no_start);
}
