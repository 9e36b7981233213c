/* A server's request for other credentials (WWW-Authenticate), and the command that obtains them.
 *
 * The text comes from a server, and a person pastes the command into a shell: only scopes of harmless
 * characters are used. */
#pragma once

#include "upstream/server.h"

/* The value of a parameter of a Bearer challenge; false when there is none. */
bool up_challenge_param(struct slice challenge, const char *name, struct buf *out);
/* For the head of a response with 401 or 403; others are ignored. */
void up_challenge_note(struct up_server *s, const struct http_head *head);
/* Writes scopes that are safe on a command line to `out`; empty when one is not. */
void up_scopes_take(char out[UP_SCOPE_MAX], struct slice scopes);
bool up_scopes_have(struct slice scopes, struct slice wanted);
/* "sallyport login --url URL --scope …": also works for a server that is not in the settings. */
void up_challenge_command(const struct up_server *s, char out[UP_COMMAND_MAX]);
