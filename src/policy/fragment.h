/* Fragments of policies as published pages print them: tools without a document around them, one after
 * another where several were pasted. Private to the policy room. */
#pragma once

#include "wire/tree.h"

/* {"clear_session": {"deny_if": …}} */
bool policy_fragment_is(const struct tree *root);
/* Do several objects stand one after another? */
bool policy_fragments_are(struct slice text);
/* Their members as those of one map. */
int policy_fragments_parse(struct slice text, struct arena *a, const struct tree **ret_root, struct err *err);

/* What makes a member of `tools` one of PolicyLayer's dialect, NULL-terminated. */
extern const char *const policy_block_keys[];
/* What makes a map a whole document. */
extern const char *const policy_document_keys[];
bool policy_has_any(const struct tree *map, const char *const *keys);
