/* Texts whose format the schema of a tool names: servers read other spellings as the same value. Private to
 * the policy room. */
#pragma once

#include "base/slice.h"

enum policy_format {
    POLICY_FORMAT_NONE,
    POLICY_FORMAT_DATE_TIME,
    POLICY_FORMAT_DATE,
    POLICY_FORMAT_TIME,
    POLICY_FORMAT_UUID,
    POLICY_FORMAT_EMAIL,
    POLICY_FORMAT_URI,
    POLICY_FORMAT_HOSTNAME,
    POLICY_FORMAT_IPV4,
    POLICY_FORMAT_IPV6,
};

enum policy_format policy_spelling_from(struct slice name); /* of JSON Schema */
/* Is it a usual spelling of such a value? Dates and times need not be in UTC, the rest has one spelling. */
bool policy_spelling_is_usual(enum policy_format format, struct slice text);
/* Two usual spellings that may be one value: in other letters, the same moment, with or without a last slash.
 */
bool policy_spelling_alike(enum policy_format format, struct slice one, struct slice other);
