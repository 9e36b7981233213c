/* Which eras of the protocol a server supports: legacy (initialize, to 2025-11-25), modern
 * (server/discover, 2026-07-28), or both. Probed periodically and cached for all its links.
 *
 *   http    POST server/discover ── modern ──▶ (a legacy client waits) GET: is a session missed?
 *                                └─ anything else that is an answer ──▶ legacy
 *   child   asked on the link itself by its channel, see channel/channel.c; a legacy one is remembered
 *           in the home, see state/eras.h
 *
 * Rejected credentials, server errors and time-outs over HTTP say nothing about eras. */
#pragma once

#include "upstream/protocol.h"
#include "upstream/server.h"

/* A caller that waits for the result. */
struct up_era_wait {
    struct list node;
    bool legacy;     /* also probe whether the legacy era is supported beside the modern one */
    const char *why; /* NULL, or why the server did not answer; valid during `done` */
    void (*done)(struct up_era_wait *w);
};

/* Are the answers known, and recent? */
bool up_era_fresh(const struct up_server *s, bool legacy);
/* Probes an HTTP server; `done` follows, never before this returns. */
void up_era_ask(struct up_server *s, struct up_era_wait *w);
void up_era_stop_waiting(struct up_era_wait *w); /* fine on one that does not wait */
/* Stores a result. */
void up_era_note(struct up_server *s, enum up_answer modern, enum up_answer legacy);
void up_era_note_discover(struct up_server *s, struct slice result);
/* The result of an earlier process for the child with this command; its argv, cwd and home are set. */
void up_era_recall(struct up_server *s);
/* The recalled result is wrong. false: nothing was recalled. */
bool up_era_forget(struct up_server *s);
void up_era_free(struct up_server *s);

/* Does an error about the version (-32022) offer the one that we use? */
bool up_era_offers(const struct tape *t, uint32_t error);
/* What an answer to server/discover proves about the modern era. status: of HTTP, 0 for other transports.
 * rpc may be NULL when the answer has no message. *ret_again: it offers one of our versions, retry. */
enum up_answer up_era_judge(int status, const struct tape *t, const struct rpc *rpc, bool *ret_again);
