/* doctor: the files on disk, their permissions, and whether a gate can start from them. */
#include "cli/doctor.h"

#include "audit/chain.h"
#include "audit/rings.h"
#include "audit/verify.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cli/gates.h"
#include "cli/policy_file.h"
#include "io/net.h"
#include "state/advice.h"
#include "state/database.h"
#include "state/grants.h"
#include "state/state.h"
#include "state/stores.h"
#include "wire/tape.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DOCTOR_FILES_MAX 4096 /* of the state directory that are looked at */

/* ---- permissions ---- */

/* Quoted for a shell. */
static struct slice quoted(struct doctor_findings *all, const char *path) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+@,:=";
    if (strspn(path, plain) == strlen(path))
        return slice_str(path);
    cleanup_buf struct buf text;
    buf_init(&text, 4 * PATH_MAX + 2);
    buf_put_char(&text, '\'');
    for (; *path; path++)
        buf_put_str(&text, *path == '\'' ? "'\\''" : (char[]){*path, 0});
    buf_put_char(&text, '\'');
    return arena_dup(&all->arena, buf_slice(&text));
}

/* Owned by this user, and closed to others as `closed` requires. False when a finding was added. */
static bool check_mode(struct doctor_findings *all, const char *check, const char *path,
                       const struct stat *st, mode_t closed) {
    struct doctor_finding *f;
    const struct slice word = quoted(all, path);
    if (st->st_uid != geteuid() && st->st_uid != 0) {
        f = cli_doctor_note(all, DOCTOR_BAD, check, path, "belongs to another user (%u)", st->st_uid);
        f->fix = arena_printf(&all->arena, "chown %u %.*s", geteuid(), SLICE_FMT(word));
        return false;
    }
    if (!(st->st_mode & closed))
        return true;
    f = cli_doctor_note(all, DOCTOR_BAD, check, path, "others may %s it (mode %04o)",
                        st->st_mode & closed & 022 ? "change" : "read", st->st_mode & 07777);
    f->fix = arena_printf(&all->arena, "chmod %04o %.*s", st->st_mode & 07777 & ~closed, SLICE_FMT(word));
    return false;
}

static bool check_file(struct doctor_findings *all, const char *check, const char *path, mode_t closed) {
    struct stat st;
    if (stat(path, &st) == 0)
        return check_mode(all, check, path, &st, closed);
    struct doctor_finding *f = cli_doctor_note(all, DOCTOR_BAD, check, path, "%s", strerror(errno));
    f->fix = SLICE("write the path of a file that is there");
    return false;
}

static bool is_key(const char *name) {
    struct slice n = slice_str(name);
    return slice_ends(n, SLICE(".key")) || slice_ends(n, SLICE(".sqlite")) || slice_ends(n, SLICE(".live"));
}

/* The entries of the state directory itself; it protects everything below. */
static void check_state_files(struct doctor_findings *all, const char *home) {
    size_t seen = 0, bad = 0, keys = 0;
    DIR *dir = opendir(home);
    for (const struct dirent *d; dir && seen < DOCTOR_FILES_MAX && (d = readdir(dir)); seen++) {
        struct stat st;
        char path[CLI_PATH_MAX + 256];
        if (d->d_name[0] == '.' || fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
            continue;
        snprintf(path, sizeof(path), "%s/%s", home, d->d_name);
        const bool key = S_ISREG(st.st_mode) && is_key(d->d_name);
        keys += key;
        bad += !check_mode(all, key ? "keys" : "state", path, &st, key ? 077 : 022);
    }
    if (dir)
        closedir(dir);
    if (!bad && keys)
        cli_doctor_note(all, DOCTOR_GOOD, "keys", home, "%zu keys and stores, closed to other users", keys);
}

/* The nearest existing parent directory: can the missing ones be created in it? */
static void check_makeable(struct doctor_findings *all, const char *home) {
    char above[CLI_PATH_MAX];
    snprintf(above, sizeof(above), "%s", home);
    for (char *slash; access(above, F_OK) != 0 && (slash = strrchr(above, '/'));)
        slash == above ? (slash[1] = 0) : (*slash = 0);
    if (access(above, W_OK | X_OK) == 0) {
        cli_doctor_note(all, DOCTOR_GOOD, "state", home, "not there yet: the first gate makes it");
        return;
    }
    struct doctor_finding *f =
        cli_doctor_note(all, DOCTOR_BAD, "state", home, "is not there and cannot be made in %s", above);
    f->fix = SLICE("set SALLYPORT_HOME to a directory that you may write");
}

static void note_ship(void *ctx, const struct tape *page) {
    struct doctor_findings *all = ctx;
    const uint32_t fault = tape_get_str(page, 0, "audit_ship_fault");
    if (!fault)
        return;
    struct doctor_finding *f = cli_doctor_note(all, DOCTOR_ODD, "audit", "audit.ship",
                                               "records wait in the home to be shipped: %.*s",
                                               SLICE_FMT(tape_text(page, fault, &all->arena)));
    f->fix = SLICE("start the database, or correct `audit.ship.dsn`");
}

/* Without reading the log: `audit verify` does that. */
static void check_audit(struct doctor_findings *all, const char *home) {
    struct audit_rings rings;
    struct err err = {0};
    struct doctor_finding *f = NULL;
    audit_rings_count(home, &rings);
    if (audit_chain_key_check(home, &err) < 0)
        f = cli_doctor_note(all, DOCTOR_BAD, "audit", home, "no gate can start: %s", err.text);
    if (audit_verify_quick(home, &err) < 0) {
        f = cli_doctor_note(all, DOCTOR_BAD, "audit", home, "%s", err.text);
        f->fix = SLICE("sallyport audit verify");
    }
    if (rings.damaged || rings.aside) {
        f = cli_doctor_note(all, DOCTOR_BAD, "audit", home,
                            "%" PRIu64 " rings cannot be read: their records are not in the log",
                            rings.damaged + rings.aside);
        f->fix = SLICE("sallyport audit verify");
    }
    if (rings.unrecorded)
        f = cli_doctor_note(all, DOCTOR_BAD, "audit", home,
                            "%" PRIu64 " records could not be stored: is the disk full?", rings.unrecorded);
    if (rings.left) {
        f = cli_doctor_note(all, DOCTOR_ODD, "audit", home,
                            "%" PRIu64 " gates were killed; their last records are not in the log yet",
                            rings.left);
        f->fix = SLICE("start a gate: it reads them");
    }
    if (!f && access(home, F_OK) == 0)
        cli_doctor_note(all, DOCTOR_GOOD, "audit", home, "no records are missing or waiting");
    cli_gates_each(home, note_ship, all);
}

static void check_home(struct doctor_findings *all, const char *home) {
    struct stat st;
    if (stat(home, &st) != 0) {
        check_makeable(all, home);
        return;
    }
    struct doctor_finding *f;
    if (!S_ISDIR(st.st_mode)) {
        f = cli_doctor_note(all, DOCTOR_BAD, "state", home, "is not a directory");
        f->fix = SLICE("set SALLYPORT_HOME to one");
    } else if (access(home, R_OK | W_OK | X_OK) != 0) {
        f = cli_doctor_note(all, DOCTOR_BAD, "state", home, "you may not write there");
        f->fix = arena_printf(&all->arena, "chown -R %u %.*s, or set SALLYPORT_HOME", geteuid(),
                              SLICE_FMT(quoted(all, home)));
    } else if (check_mode(all, "state", home, &st, 077)) {
        cli_doctor_note(all, DOCTOR_GOOD, "state", home, "writable, closed to other users");
        check_state_files(all, home);
    } else {
        check_state_files(all, home);
    }
}

/* ---- settings ---- */

static bool holds_secrets(const struct settings *s) {
    bool any = s->approvals.secret != NULL;
    for (size_t i = 0; i < s->server_count; i++)
        any |= s->servers[i].env.count || s->servers[i].headers.count;
    return any;
}

/* A user who can change the file decides which programs run; a user who can read it has the servers' secrets.
 */
static bool check_settings_file(struct doctor_findings *all, const char *path, bool secrets) {
    struct stat st;
    if (!check_file(all, "settings", path, 022))
        return false;
    if (!secrets || stat(path, &st) != 0 || !(st.st_mode & 044))
        return true;
    struct doctor_finding *f =
        cli_doctor_note(all, DOCTOR_ODD, "settings", path, "other users can read it and the secrets in it");
    f->fix = arena_printf(&all->arena, "chmod 0600 %.*s", SLICE_FMT(quoted(all, path)));
    return false;
}

static void check_settings_files(struct doctor_findings *all, const struct settings *s) {
    const bool secrets = holds_secrets(s);
    bool fine = true;
    if (s->path)
        fine &= check_settings_file(all, s->path, secrets);
    for (size_t i = 0; i < s->client_files.count; i++)
        fine &= check_settings_file(all, s->client_files.items[i], secrets);
    if (s->tls.cert)
        check_file(all, "tls", s->tls.cert, 022);
    if (s->tls.key && check_file(all, "tls", s->tls.key, 077))
        cli_doctor_note(all, DOCTOR_GOOD, "tls", s->tls.key, "closed to other users");
    if (s->fleet.cert)
        check_file(all, "fleet", s->fleet.cert, 022);
    if (s->fleet.key && check_file(all, "fleet", s->fleet.key, 077))
        cli_doctor_note(all, DOCTOR_GOOD, "fleet", s->fleet.key, "closed to other users");
    if (fine)
        cli_doctor_note(all, DOCTOR_GOOD, "settings", s->path ? s->path : s->client_files.items[0],
                        "%zu server%s", s->server_count, s->server_count == 1 ? "" : "s");
}

/* The settings, or the defaults when there is no file; NULL when the file has an error. */
static struct settings *load_settings(struct doctor_findings *all, const struct doctor_options *opt) {
    char path[CLI_PATH_MAX];
    struct err err = {0};
    struct settings *s = NULL;
    const bool found = cli_home_settings(opt->config, path);
    const bool own = opt->config || (found && !opt->client_files.count);
    struct doctor_finding *f;
    if (!own && !opt->client_files.count) {
        f = cli_doctor_note(all, DOCTOR_ODD, "settings", path, "no such file; checked with the defaults");
        f->fix = SLICE("sallyport init proposes them from the servers that your agents use");
        /* A user without settings may still use `sallyport code`. */
        settings_load_text(path, SLICE("version: \"1\"\ncode: {enabled: true}\n"), false, &s, &err);
        return s;
    }
    if (settings_load(own ? path : NULL, opt->client_files.items, opt->client_files.count, &s, &err) < 0) {
        f = cli_doctor_note(all, DOCTOR_BAD, "settings", own ? path : opt->client_files.items[0], "%s",
                            err.text);
        f->fix = own && access(path, F_OK) != 0
                     ? SLICE("give the right path; sallyport init writes settings from your clients' files")
                     : SLICE("correct the line that is named; sallyport serve --schema lists every key");
        return NULL;
    }
    check_settings_files(all, s);
    return s;
}

/* ---- policies ---- */

static void check_policy(struct doctor_findings *all, const char *path) {
    cleanup_problems struct policy_problems problems;
    cleanup_policy struct policy *policy = NULL;
    struct doctor_finding *f = NULL;
    const struct slice word = quoted(all, path);
    for (const struct doctor_finding *seen = all->first; seen; seen = seen->next)
        if (strcmp(seen->check, "policy") == 0 && slice_is(seen->subject, path))
            return;
    policy_problems_init(&problems);
    if (cli_policy_load(path, &policy, &problems) < 0) {
        const struct policy_problem *p = &problems.items[0];
        f = cli_doctor_note(all, DOCTOR_BAD, "policy", path, "%.*s%s", SLICE_FMT(p->text),
                            problems.count > 1 ? ", and more" : "");
        f->fix = arena_printf(&all->arena, "sallyport validate -c %.*s shows each mistake and its place",
                              SLICE_FMT(word));
        return;
    }
    if (!check_file(all, "policy", path, 022))
        return;
    policy_lint(policy, &problems);
    if (!problems.count) {
        cli_doctor_note(all, DOCTOR_GOOD, "policy", path, "valid");
        return;
    }
    f = cli_doctor_note(all, DOCTOR_ODD, "policy", path, "valid, with remarks: %zu", problems.count);
    f->fix = arena_printf(&all->arena, "`sallyport validate --lint -c %.*s` shows them", SLICE_FMT(word));
}

static void check_policies(struct doctor_findings *all, const struct settings *s) {
    if (s->policy)
        check_policy(all, s->policy);
    if (s->code.policy)
        check_policy(all, s->code.policy);
    for (size_t i = 0; i < s->auth.rule_count; i++)
        if (s->auth.rules[i].policy)
            check_policy(all, s->auth.rules[i].policy);
    for (size_t i = 0; i < s->server_count; i++) {
        const struct settings_server *server = &s->servers[i];
        if (server->policy)
            check_policy(all, server->policy);
        if (server->policy || s->policy || server->disabled)
            continue;
        struct doctor_finding *f = cli_doctor_note(all, DOCTOR_ODD, "policy", server->title,
                                                   "no policy: only grants that name one may call it");
        f->fix = SLICE("sallyport scan writes a policy to begin with; name it as `policy` in the settings");
    }
}

/* ---- the port ---- */

struct port_search {
    const char *listen;
    int64_t pid;
};

static void note_gate(void *ctx, const struct tape *page) {
    struct port_search *search = ctx;
    if (tape_eq(page, tape_get_str(page, 0, "listen"), slice_str(search->listen)))
        tape_int(page, tape_get_str(page, 0, "pid"), &search->pid);
}

static void no_incoming(struct io_listener *l, void *owner, int take_fd) {
    (void)l, (void)owner, (void)take_fd;
}

static const char *port_fix(const char *why) {
    if (strstr(why, "in use"))
        return "end the other program (ss -ltnp names it), or write another port in `listen`";
    if (strstr(why, "permission"))
        return "write a port above 1023 in `listen`, or let a proxy or systemd forward this one";
    return "write an address of this machine in `listen`, such as 127.0.0.1:8640";
}

const char *cli_start_fix(const char *why) {
    const struct slice text = slice_str(why);
    if (slice_starts(text, SLICE("listen on ")))
        return port_fix(why);
    return slice_starts(text, SLICE("state: ")) || strstr(why, "PostgreSQL: ") ? state_advice(why) : NULL;
}

/* Opened as the gate would open it, then closed. */
static void check_port(struct doctor_findings *all, const struct settings *s, const char *home) {
    const bool six = strchr(s->bind, ':') != NULL;
    const struct slice at =
        arena_printf(&all->arena, "%s%s%s:%u", six ? "[" : "", s->bind, six ? "]" : "", (unsigned)s->port);
    struct port_search search = {.listen = at.ptr};
    if (home)
        cli_gates_each(home, note_gate, &search);
    struct io_loop loop;
    struct err err = {0};
    uint16_t port;
    io_loop_init(&loop);
    struct io_listener *l =
        search.pid ? NULL : io_listen(&loop, s->bind, s->port, no_incoming, NULL, &port, &err);
    io_listener_close(l);
    io_loop_free(&loop);
    struct doctor_finding *f;
    if (search.pid) {
        cli_doctor_note(all, DOCTOR_GOOD, "port", at.ptr, "a gate of this home listens there, pid %lld",
                        (long long)search.pid);
    } else if (!l) {
        f = cli_doctor_note(all, DOCTOR_BAD, "port", at.ptr, "%s", err.text);
        f->fix = slice_str(port_fix(err.text));
    } else if (!io_is_loopback(s->bind) && !s->tls.cert && !s->plain_http && !s->trusted_proxies.count) {
        f = cli_doctor_note(all, DOCTOR_ODD, "port", at.ptr,
                            "free, but other machines can reach it, and tokens are sent unencrypted");
        f->fix = SLICE("tls: {cert: FILE, key: FILE} in the settings, or listen on 127.0.0.1");
    } else {
        cli_doctor_note(all, DOCTOR_GOOD, "port", at.ptr, "free");
    }
}

/* ---- stores ---- */

static struct doctor_finding *note_opened(struct doctor_findings *all, const char *setting, int rc,
                                          const struct err *err) {
    if (rc == 0)
        return cli_doctor_note(all, DOCTOR_GOOD, "store", setting, "answers");
    struct doctor_finding *f = cli_doctor_note(all, DOCTOR_BAD, "store", setting, "%s", err->text);
    const char *advice = state_advice(err->text);
    f->fix = advice ? slice_str(advice)
                    : SLICE("start it, or correct the setting: a gate does not start without it");
    return f;
}

/* Counters on the network, opened as a gate does. */
static void check_counters(struct doctor_findings *all, const struct settings *s) {
    struct state_dsn dsn;
    struct state_store *store = NULL;
    struct err err = {0};
    if (!s->state.dsn)
        return;
    if (state_dsn_parse(s->state.dsn, &dsn, &err) < 0) {
        note_opened(all, "state.dsn", -1, &err)->fix =
            SLICE("state: {dsn: \"sqlite:\"} in the settings keeps counters in the state directory");
        return;
    }
    if (dsn.backend == STATE_SQLITE)
        return;
    const struct state_config config = {
        .dsn = s->state.dsn, .prefix = s->state.prefix, .timeout_ms = s->state.timeout_ms, .read_only = true};
    note_opened(all, "state.dsn", state_open(&config, &store, &err), &err);
    state_close(store);
}

static void check_database(struct doctor_findings *all, const struct settings *s, const char *home) {
    struct err err = {0};
    if (s->state.database)
        note_opened(all, "state.database", state_database_try(home, s->state.database, &err), &err);
}

static void note_lost(void *ctx, const char *name, const char *meaning) {
    struct doctor_finding *f =
        cli_doctor_note(ctx, DOCTOR_BAD, "store", name, "deleted, or empty: %s", meaning);
    f->fix = SLICE("sallyport restore DIR brings a backup back; starting a gate makes a new one");
}

/* ---- who can authenticate ---- */

static void check_grants(struct doctor_findings *all, const struct settings *s, const char *home) {
    struct state_grants *grants = NULL;
    struct err ignored;
    size_t good = 0;
    const uint64_t now = clock_wall_ms();
    if (state_grants_open(home, true, &grants, &ignored) == 0)
        for (size_t i = 0; i < state_grants_count(grants); i++) {
            const struct state_grant *g = state_grants_at(grants, i);
            good += !g->revoked_ms && (!g->expires_ms || g->expires_ms > now);
        }
    state_grants_close(grants);
    if (good || s->auth.issuer_count) {
        cli_doctor_note(all, DOCTOR_GOOD, "grants", "", "%zu valid, %zu identity providers", good,
                        s->auth.issuer_count);
        return;
    }
    struct doctor_finding *f = cli_doctor_note(
        all, DOCTOR_ODD, "grants", "", "no grants: no client can authenticate, except with --no-auth");
    f->fix = SLICE("sallyport grants create NAME prints a token for an agent");
}

void cli_doctor_setup(struct doctor_findings *all, const struct doctor_options *opt,
                      struct settings **ret_settings) {
    char home[CLI_PATH_MAX];
    struct err err = {0};
    const bool housed = cli_home(home, &err) == 0;
    if (housed) {
        check_home(all, home);
        check_audit(all, home);
        state_stores_missing(home, note_lost, all);
    } else {
        struct doctor_finding *f = cli_doctor_note(all, DOCTOR_BAD, "state", "", "%s", err.text);
        f->fix = SLICE("export SALLYPORT_HOME=$HOME/.local/state/sallyport");
    }
    struct settings *s = *ret_settings = load_settings(all, opt);
    if (!s)
        return;
    check_policies(all, s);
    check_counters(all, s);
    check_port(all, s, housed ? home : NULL);
    if (housed) {
        check_database(all, s, home);
        check_grants(all, s, home);
    }
}
