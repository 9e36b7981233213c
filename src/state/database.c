#include "state/database.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/mem.h"
#include "base/sha.h"
#include "crypto/keyfile.h"
#include "io/file.h"
#include "state/db.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *file;
    size_t len;
} shared_keys[] = {{"approvals.key", 32}, {"secret.key", 32}, {"pii/key", 64}};

/* A fingerprint that distinguishes two keys without revealing them. */
static int key_print(const char *path, size_t len, char ret_print[SHA_HEX], struct err *err) {
    unsigned char key[64];
    if (crypto_keyfile_load(path, key, len, err) < 0)
        return -1;
    const struct slice parts[] = {SLICE("sallyport key 1"), slice_of((const char *)key, len)};
    unsigned char sum[SHA_BYTES];
    sha_256(parts, ARRAY_LEN(parts), sum);
    explicit_bzero(key, sizeof(key));
    sha_256_hex(slice_of((const char *)sum, sizeof(sum)), ret_print);
    return 0;
}

/* The first gate of a fleet stores the fingerprint of its key. */
static int check_key(struct db *db, const char *home, const char *file, size_t len, struct err *err) {
    cleanup_free char *path = NULL;
    char print[SHA_HEX];
    if (asprintf(&path, "%s/%s", home, file) < 0)
        return err_set(err, "out of memory");
    if (key_print(path, len, print, err) < 0)
        return -1;
    struct db_stmt *st =
        db_prepare(db, "INSERT INTO keys(name,print) VALUES(?1,?2) ON CONFLICT(name) DO NOTHING");
    db_bind_text(st, 1, slice_str(file));
    db_bind_text(st, 2, slice_of(print, sizeof(print)));
    if (db_run(st, err) < 0)
        return -1;
    st = db_prepare(db, "SELECT print FROM keys WHERE name=?1");
    db_bind_text(st, 1, slice_str(file));
    bool same = db_step(st) && slice_eq(db_text(st, 0), slice_of(print, sizeof(print)));
    if (db_finish(st, err) < 0)
        return -1;
    return same ? 0
                : err_set(err,
                          "`%s` is not the key of this fleet: copy the file from a gate that belongs to it",
                          path);
}

int state_database_try(const char *home, const char *dsn, struct err *err) {
    cleanup_free char *known = NULL;
    struct db *db = NULL;
    if (!dsn && db_home_dsn(home, &known, err) < 0)
        return -1;
    if (!dsn && !known)
        return 0;
    int rc = db_open_dsn(dsn ? dsn : known, "keys", true, &db, err);
    if (rc == 0)
        rc = db_run(db_prepare(db, "SELECT name FROM keys"), err) < 0 ? -1 : 0;
    db_close(db);
    return rc;
}

int state_database_join(const char *home, const char *dsn, struct err *err) {
    cleanup_free char *path = NULL, *known = NULL, *line = NULL;
    struct db *db = NULL;
    if (asprintf(&path, "%s/database", home) < 0 || asprintf(&line, "%s\n", dsn ? dsn : "") < 0)
        return err_set(err, "out of memory");
    if (io_make_dir(home, err) < 0 || db_home_dsn(home, &known, err) < 0)
        return -1;
    if (!dsn && !known)
        return 0;
    int rc = db_open_dsn(dsn ? dsn : known, "keys", true, &db, err);
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(shared_keys); i++)
        rc = check_key(db, home, shared_keys[i].file, shared_keys[i].len, err);
    db_close(db);
    if (rc < 0 && !dsn)
        return err_wrap(err, "`%s`", path);
    /* Last: commands find the database there, and one that cannot be opened must not replace one that can. */
    if (rc == 0 && dsn && !(known && strcmp(known, dsn) == 0))
        rc = io_file_replace(path, slice_str(line), 0600, err);
    return rc;
}
