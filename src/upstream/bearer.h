/* A server's request for other credentials (WWW-Authenticate), and the command that obtains them.
 *
 * The words are a server's, and the command is one that a person pastes into a shell: scopes stand in it only
 * where they are made of characters that no shell reads as anything else. */
#pragma once

#include "upstream/server.h"

/* The value of a parameter of a Bearer challenge; false when there is none. */
bool up_challenge_param(struct slice challenge, const char *name, struct buf *out);
/* The head of a response with 401 or 403; others are left alone. */
void up_challenge_note(struct up_server *s, const struct http_head *head);
/* Scopes that a command line can carry, into `out`; empty when there is one that it cannot. */
void up_scopes_take(char out[UP_SCOPE_MAX], struct slice scopes);
bool up_scopes_have(struct slice scopes, struct slice wanted);
/* "sallyport login --url URL --scope …": works wherever the server is named, or is named nowhere. */
void up_challenge_command(const struct up_server *s, char out[UP_COMMAND_MAX]);
