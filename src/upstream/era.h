/* Which eras of the protocol a server supports: legacy (initialize, to 2025-11-25), modern
 * (server/discover, 2026-07-28), or both. Asked once in a while and remembered for all its links.
 *
 *   http    POST server/discover ── modern ──▶ (a legacy client waits) GET: is a session missed?
 *                                └─ anything else that is an answer ──▶ legacy
 *   child   asked on the link itself by its channel, see channel/channel.c; a legacy one is remembered
 *           in the home, see state/eras.h
 *
 * A refusal of our credentials, trouble of the server, or silence over HTTP say nothing about eras. */
#pragma once

#include "upstream/protocol.h"
#include "upstream/server.h"

/* A caller that waits for the result. */
struct up_era_wait {
    struct list node;
    bool legacy;     /* also whether the legacy era is supported beside the modern one */
    const char *why; /* NULL, or what kept the server from answering; valid during `done` */
    void (*done)(struct up_era_wait *w);
};

/* Are the answers there, and fresh? */
bool up_era_fresh(const struct up_server *s, bool legacy);
/* Asks an HTTP server; done follows, never before this returns. */
void up_era_ask(struct up_server *s, struct up_era_wait *w);
void up_era_stop_waiting(struct up_era_wait *w); /* fine on one that does not wait */
/* What was found out. */
void up_era_note(struct up_server *s, enum up_answer modern, enum up_answer legacy);
void up_era_note_discover(struct up_server *s, struct slice result);
/* What an earlier process has found out about the child that runs by this command; its argv, cwd and home are
 * set. */
void up_era_recall(struct up_server *s);
/* What was recalled is wrong. false: nothing was. */
bool up_era_forget(struct up_server *s);
void up_era_free(struct up_server *s);

/* Does a refusal of the version (-32022) offer the one that we use? */
bool up_era_offers(const struct tape *t, uint32_t error);
/* What an answer to server/discover proves about the modern era. status: of HTTP, 0 for other transports. rpc
 * may be NULL when the answer has no message. *ret_again: it offers one of our versions, retry. */
enum up_answer up_era_judge(int status, const struct tape *t, const struct rpc *rpc, bool *ret_again);
