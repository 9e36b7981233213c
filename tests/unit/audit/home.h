/* A home for a log, and records to put into it. */
#pragma once

#include "audit/audit.h"
#include "audit/log_reader.h"
#include "audit/verify.h"

#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char home[64];
static pid_t home_owner;

static inline int home_make(void **state) {
    (void)state;
    home_owner = getpid();
    snprintf(home, sizeof(home), "/tmp/sallyport-audit-XXXXXX");
    return mkdtemp(home) ? 0 : -1;
}

static inline void home_empty(const char *dir) {
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[400];
        snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
        if (e->d_type == DT_REG)
            unlink(path);
    }
    if (d)
        closedir(d);
    rmdir(dir);
}

static inline int home_remove(void **state) {
    (void)state;
    if (getpid() != home_owner) /* a child's assertion has failed */
        _exit(1);
    char dir[128];
    snprintf(dir, sizeof(dir), "%s/audit", home);
    home_empty(dir);
    home_empty(home);
    return 0;
}

static inline struct audit *home_open(struct audit_config config) {
    struct audit *a = NULL;
    struct err err = {0};
    config.home = home;
    if (audit_open(&config, &a, &err) < 0 || audit_flush(a, &err) < 0)
        fail_msg("%s", err.text);
    return a;
}

static inline enum audit_result home_put(struct audit *a, const char *tool, const char *verdict,
                                         const char *args) {
    struct audit_decision d = {.call = audit_next_call(a),
                               .method = SLICE("tools/call"),
                               .server = SLICE("files"),
                               .grant = SLICE("agent"),
                               .tool = slice_str(tool),
                               .verdict = slice_str(verdict),
                               .rule = slice_str(*verdict == 'd' ? "no writes" : ""),
                               .args = slice_str(args),
                               .args_mode = AUDIT_ARGS_FULL};
    enum audit_result result = audit_put_decision(a, &d, NULL);
    struct audit_outcome o = {.call = d.call, .status = SLICE("ok"), .latency_us = 1500, .bytes_out = 7};
    if (result == AUDIT_OK && *verdict == 'a')
        audit_put_outcome(a, &o);
    return result;
}

static inline void home_fill(int count) {
    struct audit *a = home_open((struct audit_config){0});
    for (int i = 0; i < count; i++) {
        char args[64];
        snprintf(args, sizeof(args), "{\"path\":\"/srv/%d\",\"Note\":\"Word%d here\"}", i, i);
        assert_int_equal(home_put(a, i % 3 ? "read_file" : "write_file", i % 3 ? "allow" : "deny", args),
                         AUDIT_OK);
        if (i % 40 == 39)
            assert_int_equal(audit_flush(a, NULL), 0); /* several blocks */
    }
    audit_close(a);
}

static inline void home_sql(int segment, const char *sql) {
    char path[128];
    sqlite3 *db = NULL;
    char *error = NULL;
    snprintf(path, sizeof(path), "%s/audit/%06d.sqlite", home, segment);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK)
        fail_msg("%s: %s", sql, error);
    sqlite3_close(db);
}
