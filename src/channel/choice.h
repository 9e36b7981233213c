/* Which of several channels to a legacy server a modern client's call uses; channel.c says why there are
 * several. */
#pragma once

#include "channel/channel_types.h"

/* Reads the modern client's description from its call, once. */
void channel_choice_read(struct call *c);
/* Must the call be the only one on its channel, because the server may ask it something? */
bool channel_choice_exclusive(const struct channel *first, const struct call *c);
/* Was the channel initialised with the call's capabilities, and is it available to it? */
bool channel_choice_fits(const struct channel *ch, const struct call *c, bool exclusive);
/* A channel that fits, or NULL; then *ret_free is an unused one, or NULL. */
struct channel *channel_choice_find(struct channel *first, struct call *c, bool exclusive,
                                    struct channel **ret_free);
/* Reserves the channel for clients with the call's capabilities: makes the params of its initialize. */
void channel_choice_adopt(struct channel *ch, struct call *c);
