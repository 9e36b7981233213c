/* init: writes the changes, and undoes them.
 *
 *   HOME/init/N/journal.json   {"version":1,"files":[{"path","created"}],"dirs":[PATH],"grants":[NAME]}
 *   HOME/init/N/0.before       what stood there (absent when the file was new)
 *   HOME/init/N/0.after        what was written
 *
 * The journal is complete before the first file is changed, so an interrupted run can be undone. The copies
 * contain the secrets of the files: only this user may read them. */
#include "base/clock.h"
#include "base/mem.h"
#include "cli/init.h"
#include "io/file.h"
#include "state/grants.h"
#include "wire/emit.h"

#include <dirent.h>
#include <errno.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define JOURNAL_TEXT_MAX (64u << 20)
#define JOURNAL_FILES_MAX 1024
#define JOURNALS_MAX 10000
#define SECRET_MODE 0600

struct entry {
    const char *path;
    bool created;
    struct buf before, after;
};

struct journal {
    struct arena arena;
    const char *dir;
    struct entry *entries;
    size_t count;
    const char *grants[CLI_LIST_MAX];
    size_t grant_count;
    const char *dirs[CLI_LIST_MAX]; /* created for them, parents first */
    size_t dir_count;
};

static void journal_init(struct journal *j) {
    *j = (struct journal){0};
    arena_init(&j->arena);
    j->entries = arena_array(&j->arena, struct entry, JOURNAL_FILES_MAX);
}

static void journal_cleanup(struct journal *j) {
    for (size_t i = 0; i < j->count; i++) {
        buf_free(&j->entries[i].before);
        buf_free(&j->entries[i].after);
    }
    arena_free(&j->arena);
}
#define cleanup_journal __attribute__((cleanup(journal_cleanup)))

static struct entry *add_entry(struct journal *j, const char *path, bool created) {
    if (j->count == JOURNAL_FILES_MAX)
        return NULL;
    struct entry *e = &j->entries[j->count++];
    *e = (struct entry){.path = arena_dup(&j->arena, slice_str(path)).ptr, .created = created};
    buf_init(&e->before, JOURNAL_TEXT_MAX);
    buf_init(&e->after, JOURNAL_TEXT_MAX);
    return e;
}

/* ---- directories ---- */

/* Every directory of a path that ends with a file. */
static int make_dirs(const char *path, unsigned mode, struct err *err) {
    char part[PATH_MAX];
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        if (snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path) >= (int)sizeof(part))
            return err_set(err, "the path is too long");
        if (mkdir(part, mode) != 0 && errno != EEXIST)
            return err_set(err, "cannot make the directory `%s`: %s", part, strerror(errno));
    }
    return 0;
}

/* Missing directories of a path. */
static void note_dirs(struct journal *j, const char *path) {
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        const char *dir = arena_dup(&j->arena, slice_of(path, (size_t)(slash - path))).ptr;
        bool known = access(dir, F_OK) == 0 || j->dir_count == CLI_LIST_MAX;
        for (size_t i = 0; i < j->dir_count; i++)
            known |= strcmp(j->dirs[i], dir) == 0;
        if (!known)
            j->dirs[j->dir_count++] = dir;
    }
}

static const char *numbered(struct journal *j, size_t i, const char *what) {
    return arena_printf(&j->arena, "%s/%zu.%s", j->dir, i, what).ptr;
}

/* The highest number below HOME/init; 0 when there is none. */
static unsigned last_number(const char *home) {
    char path[PATH_MAX];
    unsigned last = 0;
    snprintf(path, sizeof(path), "%s/init", home);
    DIR *dir = opendir(path);
    for (const struct dirent *d; dir && (d = readdir(dir));) {
        uint64_t number;
        if (slice_to_u64(slice_str(d->d_name), &number) && number <= JOURNALS_MAX && number > last)
            last = (unsigned)number;
    }
    if (dir)
        closedir(dir);
    return last;
}

/* ---- the new contents ---- */

static int fill_new(struct journal *j, const char *path, struct slice text, struct err *err) {
    struct entry *e = add_entry(j, path, true);
    return e && buf_put_slice(&e->after, text) ? 0 : err_set(err, "`%s` is too large", path);
}

static int fill_policies(const struct init *in, struct journal *j, struct err *err) {
    for (size_t i = 0; i < in->target_count; i++) {
        const struct init_target *t = &in->targets[i];
        if (!cli_init_writes(in, t))
            continue;
        struct entry *e = add_entry(j, t->policy, true);
        if (!e)
            return err_set(err, "too many files");
        cli_init_policy(in, t, &e->after);
    }
    return 0;
}

static int fill_settings(const struct init *in, struct journal *j, struct err *err) {
    if (!cli_init_new_settings(in))
        return 0;
    struct splice s = {.arena = &j->arena};
    struct entry *e = add_entry(j, in->yaml, !in->own);
    if (!e || !cli_init_settings(in, false, &s, err))
        return -1;
    buf_put_slice(&e->before, buf_slice(&in->own_text));
    splice_write(&s, &e->after);
    /* The result must be parseable before it is used. */
    struct settings *check = NULL;
    if (settings_load_text(in->yaml, buf_slice(&e->after), false, &check, err) < 0)
        return err_wrap(err, "the new settings");
    settings_free(check);
    return 0;
}

static void each_server(const struct init *in, const struct cli_client *client, const char **names,
                        size_t *count) {
    for (size_t i = 0; i < in->file_count; i++)
        for (size_t k = 0; in->files[i].found && k < in->files[i].file->count; k++) {
            const struct init_target *t = in->files[i].found[k].target;
            bool known = !t || in->files[i].file->client != client || *count == CLI_LIST_MAX;
            for (size_t n = 0; !known && n < *count; n++)
                known = strcmp(names[n], t->name) == 0;
            if (!known)
                names[(*count)++] = t->name;
        }
}

/* A grant for this client, for its servers only. A name is never used twice. */
static int make_grant(const struct init *in, const struct cli_client *client, struct journal *j,
                      char ret_token[STATE_TOKEN_TEXT], struct err *err) {
    const char *names[CLI_LIST_MAX];
    size_t count = 0;
    struct state_grants *grants = NULL;
    each_server(in, client, names, &count);
    if (state_grants_open(in->home, false, &grants, err) < 0)
        return -1;
    const char *name = client->name;
    for (unsigned i = 2; state_grants_by_name(grants, slice_str(name)); i++)
        name = arena_printf(&j->arena, "%s-%u", client->name, i).ptr;
    const struct state_grant grant = {.name = name,
                                      .label = "made by sallyport init",
                                      .policy = "",
                                      .limits = "",
                                      .servers = names,
                                      .server_count = count};
    int rc = state_grants_create(grants, &grant, clock_wall_ms(), ret_token, err);
    state_grants_close(grants);
    if (rc == 0)
        j->grants[j->grant_count++] = name;
    return rc;
}

static int fill_clients(const struct init *in, struct journal *j, struct err *err) {
    const struct cli_client *last = NULL;
    char token[STATE_TOKEN_TEXT] = "";
    for (size_t i = 0; i < in->file_count; i++) {
        const struct init_file *f = &in->files[i];
        if (!f->chosen)
            continue;
        /* The files of one client stand together. */
        if (in->opt->mode == CLI_MODE_SERVE && f->file->client != last &&
            make_grant(in, f->file->client, j, token, err) < 0)
            return -1;
        last = f->file->client;
        struct splice s = {.arena = &j->arena};
        struct entry *e = add_entry(j, f->file->path, false);
        if (!e || cli_init_edit(in, f, false, token, &s, err) < 0)
            return -1;
        buf_put_slice(&e->before, buf_slice(&f->file->text));
        splice_write(&s, &e->after);
    }
    return 0;
}

/* ---- the journal ---- */

static int write_journal(struct journal *j, struct err *err) {
    cleanup_buf struct buf text;
    struct emit e;
    buf_init(&text, JOURNAL_TEXT_MAX);
    emit_init(&e, &text);
    emit_object(&e);
    emit_key(&e, "version");
    emit_int(&e, 1);
    emit_key(&e, "files");
    emit_array(&e);
    for (size_t i = 0; i < j->count; i++) {
        emit_object(&e);
        emit_key(&e, "path");
        emit_cstr(&e, j->entries[i].path);
        emit_key(&e, "created");
        emit_bool(&e, j->entries[i].created);
        emit_object_end(&e);
    }
    emit_array_end(&e);
    emit_strings(&e, "dirs", j->dirs, j->dir_count);
    emit_strings(&e, "grants", j->grants, j->grant_count);
    emit_object_end(&e);
    buf_put_char(&text, '\n');
    for (size_t i = 0; i < j->count; i++) {
        const struct entry *entry = &j->entries[i];
        if (entry->before.full || entry->after.full)
            return err_set(err, "`%s` is too large", entry->path);
        if ((!entry->created &&
             io_file_replace(numbered(j, i, "before"), buf_slice(&entry->before), SECRET_MODE, err) < 0) ||
            io_file_replace(numbered(j, i, "after"), buf_slice(&entry->after), SECRET_MODE, err) < 0)
            return -1;
    }
    return io_file_replace(arena_printf(&j->arena, "%s/journal.json", j->dir).ptr, buf_slice(&text),
                           SECRET_MODE, err);
}

/* Is the file still what was read? Clients may write theirs at any time. */
/* A file is replaced by another one in its directory. */
static int check_place(const char *path, struct err *err) {
    char dir[PATH_MAX];
    snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path), path);
    if (access(*dir ? dir : "/", W_OK) == 0 || errno == ENOENT)
        return 0;
    return err_set(err, "cannot write `%s`: %s; nothing was written", path, strerror(errno));
}

static int check_unchanged(const struct entry *e, struct err *err) {
    cleanup_buf struct buf now;
    buf_init(&now, JOURNAL_TEXT_MAX);
    bool missing = false;
    struct err why;
    int rc = io_file_read(e->path, &now, &missing, &why);
    if (e->created)
        return missing ? 0 : err_set(err, "`%s` is there now; run init again", e->path);
    if (rc < 0 || !slice_eq(buf_slice(&now), buf_slice(&e->before)))
        return err_set(err, "`%s` has changed meanwhile; nothing was written to it, run init again", e->path);
    return 0;
}

int cli_init_write(struct init *in, struct err *err) {
    cleanup_journal struct journal j;
    journal_init(&j);
    if (fill_policies(in, &j, err) < 0 || fill_settings(in, &j, err) < 0)
        return -1;
    if (cli_init_needs_through(in) && access(in->through, F_OK) != 0 &&
        fill_new(&j, in->through, slice_str(cli_init_through_text), err) < 0)
        return -1;
    if (fill_clients(in, &j, err) < 0)
        return -1;
    for (size_t i = 0; i < j.count; i++)
        if (check_unchanged(&j.entries[i], err) < 0 || check_place(j.entries[i].path, err) < 0)
            return -1;
    for (size_t i = 0; i < j.count; i++)
        note_dirs(&j, j.entries[i].path);
    j.dir = arena_printf(&j.arena, "%s/init/%u", in->home, last_number(in->home) + 1).ptr;
    if (make_dirs(arena_printf(&j.arena, "%s/-", j.dir).ptr, 0700, err) < 0 || write_journal(&j, err) < 0)
        return -1;
    for (size_t i = 0; i < j.count; i++) {
        const struct entry *e = &j.entries[i];
        if (make_dirs(e->path, 0700, err) < 0 ||
            io_file_replace(e->path, buf_slice(&e->after), SECRET_MODE, err) < 0)
            return err_wrap(err, "not all files were written; `sallyport init --undo` puts the others back");
    }
    return 0;
}

/* ---- undo ---- */

static int read_entry(struct journal *j, const struct tape *t, uint32_t node, struct err *err) {
    uint32_t path = tape_is(t, node, TAPE_OBJECT) ? tape_get_str(t, node, "path") : 0,
             created = path ? tape_get_str(t, node, "created") : 0;
    if (!created || !tape_is(t, path, TAPE_STRING))
        return err_set(err, "`%s/journal.json` is damaged", j->dir);
    size_t i = j->count;
    struct slice name = tape_text(t, path, &j->arena);
    struct entry *e = add_entry(j, arena_dup(&j->arena, name).ptr, tape_is(t, created, TAPE_TRUE));
    if (!e)
        return err_set(err, "`%s/journal.json` is damaged", j->dir);
    return (!e->created && io_file_read(numbered(j, i, "before"), &e->before, NULL, err) < 0) ||
                   io_file_read(numbered(j, i, "after"), &e->after, NULL, err) < 0
               ? -1
               : 0;
}

static void read_names(struct journal *j, const struct tape *t, uint32_t list, const char **names,
                       size_t *count) {
    if (!tape_is(t, list, TAPE_ARRAY))
        return;
    TAPE_FOR_ELEM(t, list, i) {
        if (tape_is(t, i, TAPE_STRING) && *count < CLI_LIST_MAX)
            names[(*count)++] = arena_dup(&j->arena, tape_text(t, i, &j->arena)).ptr;
    }
}

static int read_journal(struct journal *j, struct err *err) {
    cleanup_buf struct buf text;
    cleanup_tape struct tape t;
    tape_init(&t);
    buf_init(&text, JOURNAL_TEXT_MAX);
    if (io_file_read(arena_printf(&j->arena, "%s/journal.json", j->dir).ptr, &text, NULL, err) < 0)
        return -1;
    bool fine = tape_parse(&t, buf_slice(&text), NULL) == TAPE_OK && tape_is(&t, 0, TAPE_OBJECT);
    uint32_t files = fine ? tape_get_str(&t, 0, "files") : 0,
             grants = fine ? tape_get_str(&t, 0, "grants") : 0;
    if (!files || !grants || !tape_is(&t, files, TAPE_ARRAY) || !tape_is(&t, grants, TAPE_ARRAY))
        return err_set(err, "`%s/journal.json` is damaged", j->dir);
    TAPE_FOR_ELEM(&t, files, i) {
        if (read_entry(j, &t, i, err) < 0)
            return -1;
    }
    uint32_t dirs = tape_get_str(&t, 0, "dirs");
    read_names(j, &t, grants, j->grants, &j->grant_count);
    if (dirs)
        read_names(j, &t, dirs, j->dirs, &j->dir_count);
    return 0;
}

enum now { NOW_AFTER, NOW_BEFORE, NOW_GONE, NOW_OTHER };

/* The current content. */
static enum now compare_file(const struct entry *e) {
    cleanup_buf struct buf now;
    bool missing = false;
    struct err ignored;
    buf_init(&now, JOURNAL_TEXT_MAX);
    if (io_file_read(e->path, &now, &missing, &ignored) < 0)
        return missing ? NOW_GONE : NOW_OTHER;
    if (slice_eq(buf_slice(&now), buf_slice(&e->after)))
        return NOW_AFTER;
    return !e->created && slice_eq(buf_slice(&now), buf_slice(&e->before)) ? NOW_BEFORE : NOW_OTHER;
}

/* No content is lost: a replaced file is kept beside the journals. */
static int keep_copy(const struct entry *e, const char *home, struct buf *out, struct err *err) {
    cleanup_buf struct buf now;
    char path[PATH_MAX];
    const char *slash = strrchr(e->path, '/');
    buf_init(&now, JOURNAL_TEXT_MAX);
    /* Files of several clients may have one name. */
    for (uint64_t ms = clock_wall_ms(); ms; ms = access(path, F_OK) == 0 ? ms + 1 : 0)
        snprintf(path, sizeof(path), "%s/init/replaced-%llu-%s", home, (unsigned long long)ms,
                 slash ? slash + 1 : e->path);
    if (io_file_read(e->path, &now, NULL, err) < 0 ||
        io_file_replace(path, buf_slice(&now), SECRET_MODE, err) < 0)
        return err_wrap(err, "keep a copy of `%s`", e->path);
    buf_printf(out, "copied    %s to %s\n", e->path, path);
    return 0;
}

static int restore(const struct entry *e, const char *home, bool force, struct buf *out, struct err *err) {
    enum now now = compare_file(e);
    if (e->created && now == NOW_OTHER && !force) {
        buf_printf(out, "kept      %s: you have changed it\n", e->path);
        return 0;
    }
    if (now == NOW_BEFORE || (e->created && now == NOW_GONE))
        return 0;
    if (now != NOW_GONE && (!e->created || now == NOW_OTHER) && keep_copy(e, home, out, err) < 0)
        return -1;
    if (!e->created && now == NOW_OTHER) {
        cleanup_buf struct buf text;
        buf_init(&text, JOURNAL_TEXT_MAX);
        if (!force && cli_init_undo_entries(e->path, buf_slice(&e->before), buf_slice(&e->after), out, &text))
            return io_file_replace(e->path, buf_slice(&text), SECRET_MODE, err);
    }
    if (!e->created) {
        buf_printf(out, "restored  %s\n", e->path);
        return io_file_replace(e->path, buf_slice(&e->before), SECRET_MODE, err);
    }
    if (unlink(e->path) != 0)
        return err_set(err, "cannot remove `%s`: %s", e->path, strerror(errno));
    buf_printf(out, "removed   %s\n", e->path);
    return 0;
}

static int revoke_grants(const struct journal *j, const char *home, struct buf *out, struct err *err) {
    struct state_grants *grants = NULL;
    if (!j->grant_count)
        return 0;
    if (state_grants_open(home, false, &grants, err) < 0)
        return -1;
    int rc = 0;
    for (size_t i = 0; i < j->grant_count && rc == 0; i++) {
        rc = state_grants_revoke(grants, slice_str(j->grants[i]), clock_wall_ms(), err);
        buf_printf(out, "revoked   grant %s\n", j->grants[i]);
    }
    state_grants_close(grants);
    return rc;
}

static void forget_journal(struct journal *j) {
    unlink(arena_printf(&j->arena, "%s/journal.json", j->dir).ptr);
    for (size_t i = 0; i < j->count; i++) {
        unlink(numbered(j, i, "before"));
        unlink(numbered(j, i, "after"));
    }
    rmdir(j->dir);
}

static bool can_undo_entries(const struct entry *e) {
    cleanup_buf struct buf text, report;
    buf_init(&text, JOURNAL_TEXT_MAX);
    buf_init(&report, JOURNAL_TEXT_MAX);
    return cli_init_undo_entries(e->path, buf_slice(&e->before), buf_slice(&e->after), &report, &text);
}

enum cli_exit cli_init_undo(const struct init_options *opt, const char *home, struct buf *out,
                            struct err *err) {
    cleanup_journal struct journal j;
    journal_init(&j);
    unsigned number = last_number(home);
    if (!number) {
        err_set(err, "there is nothing to undo");
        return CLI_NO;
    }
    j.dir = arena_printf(&j.arena, "%s/init/%u", home, number).ptr;
    if (read_journal(&j, err) < 0)
        return CLI_FAILED;
    for (size_t i = 0; i < j.count && !opt->force; i++) {
        const struct entry *e = &j.entries[i];
        enum now now = e->created ? NOW_AFTER : compare_file(e);
        if ((now != NOW_OTHER && now != NOW_GONE) || (now == NOW_OTHER && can_undo_entries(e)))
            continue;
        err_set(err,
                "`%s` has %s since init wrote it; the earlier file is in `%s`. --force restores it anyway",
                e->path, now == NOW_GONE ? "been removed" : "changed", numbered(&j, i, "before"));
        return CLI_NO;
    }
    for (size_t i = 0; i < j.count; i++) {
        if (opt->dry_run)
            buf_printf(out, "would %s %s\n", j.entries[i].created ? "remove " : "restore", j.entries[i].path);
        else if (restore(&j.entries[i], home, opt->force, out, err) < 0)
            return CLI_FAILED;
    }
    if (opt->dry_run)
        return CLI_OK;
    for (size_t i = j.dir_count; i-- > 0;)
        rmdir(j.dirs[i]); /* stays when it is not empty */
    if (revoke_grants(&j, home, out, err) < 0)
        return CLI_FAILED;
    forget_journal(&j);
    return CLI_OK;
}
