/* URLs for people, logs and reports. */
#pragma once

#include "base/arena.h"
#include "base/slice.h"

/* A URL with asterisks in place of its user and password, the values of its query, and parts of its path
 * that look like keys; without its fragment. A text without `://` comes back as it is. */
struct slice mask_url(struct slice url, struct arena *a);
