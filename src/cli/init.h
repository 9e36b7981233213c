/* What the files of `init` share.
 *
 *   find ──▶ targets ──▶ ask or look up ──▶ policies, sallyport.yaml, edits of clients' files
 *                                             └──▶ shown ──▶ consent ──▶ journal ──▶ written
 *
 * Every text is made twice by the same code: with asterisks for secrets to be shown, and as it is written. */
#pragma once

#include "cli/clients.h"
#include "cli/scan.h"
#include "front/settings.h"

struct init_options {
    const char *client;
    struct cli_list servers;
    int mode; /* enum cli_client_mode */
    const char *dir;
    const char *project;
    const char *listen;
    bool yes, dry_run, details, no_start, start, undo, force, json;
    uint64_t timeout_ms;
};

/* One server as the gate will know it; several clients may have it. */
struct init_target {
    const char *name;
    const char *title;         /* as the first client calls it */
    struct slice json, shown;  /* as mcpServers has it; the same with stars */
    struct settings *settings; /* its own settings; NULL: it needs what this environment does not have */
    struct settings *outline;  /* then: the same with the variables left as they stand, or NULL */
    struct err why;
    const char *why_not;     /* the same, with a fix */
    struct cli_asked *asked; /* NULL: the servers could not be asked */
    const struct risk_survey *survey;
    bool from_catalogue;
    const char *policy; /* path */
    bool has_policy;    /* it exists */
    bool in_settings;   /* sallyport.yaml has it */
};

/* A server in a client's file and its new place. */
struct init_found {
    struct init_target *target; /* NULL: left alone */
    const char *skip;           /* and why */
};

struct init_file {
    struct cli_client_file *file, *masked;
    struct init_found *found; /* one a server of the file */
    size_t chosen;            /* how many will be put behind the gate */
};

struct init {
    const struct init_options *opt;
    struct arena arena;
    struct cli_clients clients;
    struct init_file *files;
    size_t file_count;
    struct init_target *targets;
    size_t target_count;
    struct cli_asking asking;
    struct risk_survey *surveys;
    char home[CLI_PATH_MAX];
    const char *dir;            /* of sallyport.yaml and the policies */
    const char *yaml, *through; /* paths */
    struct settings *own;       /* of the sallyport.yaml that is there, or NULL */
    struct buf own_text;
    const char *program;     /* path of this one, or the package runner that started it */
    const char *const *lead; /* then, as in struct cli_client_plan */
    const char *listen, *url;
};

/* init_find.c */
int cli_init_find(struct init *in, struct err *err);
void cli_init_target_free(struct init_target *t);
/* Tools by asking, or from the catalogue; then the policies' paths. */
int cli_init_judge(struct init *in, bool start, struct err *err);

/* init_make.c: texts to be written, or shown. */
bool cli_init_settings(const struct init *in, bool shown, struct splice *s, struct err *err);
/* Must a policy be written for it? Some client uses it, and it has none yet. */
bool cli_init_writes(const struct init *in, const struct init_target *t);
void cli_init_policy(const struct init *in, const struct init_target *t, struct buf *out);
int cli_init_edit(const struct init *in, const struct init_file *f, bool shown, const char *token,
                  struct splice *s, struct err *err);
bool cli_init_needs_through(const struct init *in);
bool cli_init_new_settings(const struct init *in); /* is there anything to add to sallyport.yaml? */
extern const char cli_init_through_text[];

/* init_show.c */
/* The servers that would be started, or queried over the network, to learn about their tools. */
void cli_init_show_starts(const struct init *in, struct buf *out);
void cli_init_show_found(const struct init *in, struct buf *out);
/* Every change as a diff; which files change; which servers need a login. */
int cli_init_show_changes(const struct init *in, struct buf *out, struct err *err);
int cli_init_show_summary(const struct init *in, struct buf *out, struct err *err);
void cli_init_show_logins(const struct init *in, struct buf *out);
int cli_init_json(const struct init *in, bool applied, struct buf *out, struct err *err);

/* init_write.c: with a journal in the home, so that it can be undone. */
int cli_init_write(struct init *in, struct err *err);
/* init_entries.c: the current file with init's changes reverted; false when that is impossible. `out` gets
 * the entries that were reverted, or kept because they were edited. */
bool cli_init_undo_entries(const char *path, struct slice before, struct slice after, struct buf *out,
                           struct buf *ret_text);
/* CLI_OK, CLI_NO when a file has changed since. */
enum cli_exit cli_init_undo(const struct init_options *opt, const char *home, struct buf *out,
                            struct err *err);
