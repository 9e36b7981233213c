/* Logs the gate in at a server that wants OAuth. The tokens are kept sealed in the home; gates of this home
 * use and refresh them from then on. */
#include "base/mem.h"
#include "cli/clients.h"
#include "cli/command.h"
#include "front/settings.h"
#include "io/conn.h"
#include "io/tls.h"
#include "upstream/fetch.h"
#include "upstream/oauth.h"
#include "wire/emit.h"
#include "wire/mask.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOGIN_NAMES_MAX 400 /* bytes of a list of names in an error */

struct login_options {
    const char *config;
    const char *url;
    const char *client_id;
    const char *secret_file;
    const char *client_metadata;
    struct cli_list scopes;
    uint64_t port;
    bool by_hand;
    bool forget;
    bool json;
};

static const struct cli_option login_rows[] = {
    {CLI_TEXT(struct login_options, config), .name = "config", .letter = 'c', .argument = "FILE",
     .help = "where the server is named; by default ./sallyport.yaml, else the one that `init` wrote"},
    {CLI_TEXT(struct login_options, url), .name = "url", .argument = "URL",
     .help = "the server's URL, if it is in no settings"},
    {CLI_TEXT(struct login_options, client_id), .name = "client-id", .argument = "ID",
     .help = "a client that the authorization server knows; by default one is registered"},
    {CLI_TEXT(struct login_options, secret_file), .name = "client-secret-file", .argument = "FILE",
     .help = "its secret, if it has one"},
    {CLI_TEXT(struct login_options, client_metadata), .name = "client-metadata", .argument = "URL",
     .help =
         "a document that describes the client, for authorization servers that take its URL as client id"},
    {CLI_LIST(struct login_options, scopes), .name = "scope", .argument = "SCOPE",
     .help = "the scopes to request; by default those that the server asks for"},
    {CLI_NUMBER(struct login_options, port), .name = "port", .argument = "PORT", .fallback = "0",
     .max = 65535, .help = "local port for the browser's redirect; 0 takes a free one"},
    {CLI_SWITCH(struct login_options, by_hand), .name = "no-browser",
     .help = "the browser is on another machine: paste the URL it ends at"},
    {CLI_SWITCH(struct login_options, forget), .name = "forget", .help = "remove the login instead"},
    {CLI_SWITCH(struct login_options, json), .name = "json", .help = "print JSON"},
    {0},
};

struct login {
    const struct login_options *opt;
    const char *home;
    struct io_loop loop;
    struct up_core core;
    struct up_oauth *oauth;
    struct io_conn *in; /* for pasted text */
    int status;
};

static void login_over(struct login *l, int status) {
    l->status = status;
    io_loop_stop(&l->loop);
}

static size_t on_pasted(struct io_conn *io, void *owner, struct block *b, char *ptr, size_t len) {
    (void)io, (void)b;
    struct login *l = owner;
    const char *end = memchr(ptr, '\n', len);
    if (!end)
        return len < UP_URL_MAX * 4 ? 0 : len;
    up_oauth_paste(l->oauth, slice_of(ptr, (size_t)(end - ptr)));
    return len;
}

static void on_pasted_end(struct io_conn *io, void *owner, int status) {
    (void)io, (void)status;
    struct err err;
    err_set(&err, "nothing was pasted");
    login_over(owner, cli_fail(CLI_NO, &err));
}

static const struct io_handlers paste_handlers = {.data = on_pasted, .end = on_pasted_end};

static void on_open(void *owner, const char *url) {
    struct login *l = owner;
    fprintf(stderr, "Open this in a browser and log in:\n\n%s\n\n", url);
    if (!l->opt->by_hand)
        return;
    fprintf(stderr, "Then paste the URL that it ends at here:\n");
    l->in = io_conn_fd(&l->loop, dup(STDIN_FILENO), true, &paste_handlers, l);
    io_conn_read(l->in, true);
}

static void on_done(void *owner, const struct up_login *login, const char *fault) {
    struct login *l = owner;
    struct err err;
    if (fault) {
        err_set(&err, "%s", fault);
        login_over(l, cli_fail(CLI_FAILED, &err));
        return;
    }
    if (up_login_save(l->home, login, &err) < 0) {
        login_over(l, cli_fail(CLI_FAILED, &err));
        return;
    }
    cleanup_buf struct buf out;
    buf_init(&out, 16384);
    struct emit e;
    emit_init(&e, &out);
    if (l->opt->json) {
        emit_object(&e);
        emit_key(&e, "url");
        emit_str(&e, login->url);
        emit_key(&e, "issuer");
        emit_str(&e, login->issuer);
        emit_key(&e, "scope");
        emit_str(&e, login->scope);
        emit_key(&e, "refreshable");
        emit_bool(&e, login->refresh_token.len > 0);
        emit_object_end(&e);
        buf_put_char(&out, '\n');
    } else {
        fprintf(stderr, "logged in at %.*s\n", SLICE_FMT(login->url));
    }
    login_over(l, out.len ? cli_print(&out) : CLI_OK);
}

static const struct up_oauth_events login_events = {.open = on_open, .done = on_done};

/* No server has the name, or none was given: the names to choose from. */
static void list_servers(const struct settings *settings, const char *path, const char *name,
                         struct err *err) {
    cleanup_buf struct buf names;
    buf_init(&names, LOGIN_NAMES_MAX);
    for (size_t i = 0; i < settings->server_count; i++) {
        const struct settings_server *s = &settings->servers[i];
        if (s->url && names.len + strlen(s->name) + 2 < LOGIN_NAMES_MAX)
            buf_printf(&names, "%s%s", names.len ? ", " : "", s->name);
    }
    struct slice list = names.len ? buf_slice(&names) : SLICE("none");
    if (name)
        err_set(err, "`%s` names no server `%s`; remote ones: %.*s", path, name, SLICE_FMT(list));
    else
        err_set(err, "which server? name one, or give --url; remote ones in `%s`: %.*s", path,
                SLICE_FMT(list));
}

/* The server's URL, in the settings' memory or as given. */
static const char *find_url(const struct login_options *opt, const char *name, struct settings **settings,
                            struct err *err) {
    if (opt->url)
        return opt->url;
    char path[CLI_PATH_MAX];
    if (!cli_home_settings(opt->config, path) && !opt->config) {
        err_set(err, "there is no sallyport.yaml here, nor one that `sallyport init` wrote: name it with "
                     "--config FILE, or "
                     "give the server's --url");
        return NULL;
    }
    if (settings_load(path, NULL, 0, settings, err) < 0)
        return NULL;
    for (size_t i = 0; name && i < (*settings)->server_count; i++) {
        const struct settings_server *s = &(*settings)->servers[i];
        if (strcmp(s->name, name) != 0)
            continue;
        if (!s->url)
            err_set(err, "server `%s` is a program: there is nowhere to log in", name);
        return s->url;
    }
    list_servers(*settings, path, name, err);
    return NULL;
}

static int forget(const char *home, const char *url) {
    struct up_login login;
    struct err err;
    bool absent = false;
    up_login_load(home, url, &login, &absent, &err);
    if (absent)
        err_set(&err, "there is no login at `%.*s`: nothing to forget",
                SLICE_FMT(mask_url(slice_str(url), &login.arena)));
    const bool removed = !absent && up_login_remove(home, url, &err) == 0;
    arena_free(&login.arena);
    return removed ? CLI_OK : cli_fail(CLI_NO, &err);
}

static int run_login(struct login *l, const char *url, const char *secret) {
    struct up_oauth_request r = {
        .url = url,
        .client_id = l->opt->client_id,
        .client_secret = secret,
        .client_metadata = l->opt->client_metadata,
        .scopes = l->opt->scopes.items,
        .scope_count = l->opt->scopes.count,
        .by_hand = l->opt->by_hand,
        .port = (uint16_t)l->opt->port,
    };
    io_loop_init(&l->loop);
    l->core.loop = &l->loop;
    l->oauth = up_oauth_start(&l->core, &r, &login_events, l);
    io_loop_run(&l->loop);
    up_oauth_free(l->oauth);
    io_conn_close(l->in);
    io_loop_free(&l->loop);
    io_tls_ctx_free(l->core.tls);
    return l->status;
}

static int login_run(const void *options, const struct cli_rest *rest) {
    const struct login_options *opt = options;
    struct err err = {0};
    char home[CLI_PATH_MAX], secret[UP_SECRET_MAX] = "";
    cleanup_settings struct settings *settings = NULL;
    const char *url = find_url(opt, rest->operand_count ? rest->operands[0] : NULL, &settings, &err);
    if (!url || cli_home(home, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
    if (opt->forget)
        return forget(home, url);
    if (opt->secret_file) {
        cleanup_file FILE *file = fopen(opt->secret_file, "re");
        if (!file || !fgets(secret, sizeof(secret), file)) {
            err_set(&err, "--client-secret-file `%s` cannot be read", opt->secret_file);
            return cli_fail(CLI_CONFIG, &err);
        }
        secret[strcspn(secret, "\r\n")] = '\0';
    }
    struct login l = {.opt = opt, .home = home};
    return run_login(&l, url, secret[0] ? secret : NULL);
}

static const struct cli_example login_examples[] = {
    {"sallyport login tracker", "log in at the server `tracker` of sallyport.yaml"},
    {"sallyport login --url https://mcp.example.com/mcp --no-browser", "from a machine without a browser"},
    {0},
};

const struct cli_command cli_login = {
    .name = "login",
    .summary = "log the gate in at a server with OAuth",
    .detail = "Prints a URL to open, waits for the answer on a port of this machine, and keeps the tokens "
              "sealed in "
              "the home. Gates of this home show them to the server and refresh them; agents never see them.",
    .options = login_rows,
    .options_size = sizeof(struct login_options),
    .operands = "[SERVER]",
    .operands_max = 1,
    .examples = login_examples,
    .run = login_run,
};
