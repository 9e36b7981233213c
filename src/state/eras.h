/* Commands that a probe has shown to be legacy MCP servers: HOME/eras. A legacy child that is silent at the
 * probe, or ends, costs a time-out or a second start; with this file it does so once a day and not at every
 * start of a gate.
 *
 *   sallyport eras 1
 *   <64 hex digits> <valid until, milliseconds since the epoch>
 *
 * The file is a cache: what is missing or damaged costs a probe. Two gates that write at the same time may
 * lose one entry. A file of a newer format is neither read nor written. */
#pragma once

#include "base/slice.h"

#define STATE_ERA_KEY 32 /* bytes: SHA-256 of what identifies the command */

/* Is the command known to be legacy? ret_until_ms: until when, wall clock. */
bool state_eras_legacy(const char *home, const unsigned char key[STATE_ERA_KEY], uint64_t now_ms,
                       uint64_t *ret_until_ms);
/* Stores that the command is legacy, or removes its entry. */
void state_eras_note(const char *home, const unsigned char key[STATE_ERA_KEY], bool legacy, uint64_t now_ms);
