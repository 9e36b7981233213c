/* Policy fragments as published pages print them: tools without a document around them, one after another
 * if several were pasted. Private to the policy room. */
#pragma once

#include "wire/tree.h"

/* {"clear_session": {"deny_if": …}} */
bool policy_fragment_is(const struct tree *root);
/* Does the text consist of several objects? */
bool policy_fragments_are(struct slice text);
/* Merges their members into one map. */
int policy_fragments_parse(struct slice text, struct arena *a, const struct tree **ret_root, struct err *err);

/* Keys that mark a member of `tools` as PolicyLayer's dialect, NULL-terminated. */
extern const char *const policy_block_keys[];
/* Keys that mark a map as a complete document. */
extern const char *const policy_document_keys[];
bool policy_has_any(const struct tree *map, const char *const *keys);
