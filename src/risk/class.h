/* The five classes of a tool by the effect of a call, worst last. */
#pragma once

#include "base/slice.h"

struct emit;

enum risk_class {
    RISK_NONE, /* no evidence; the classifier never returns it */
    RISK_READ,
    RISK_WRITE,
    RISK_EXECUTE,
    RISK_DESTRUCTIVE,
    RISK_FINANCIAL,
};
#define RISK_CLASSES 6

enum risk_severity { RISK_LOW, RISK_MEDIUM, RISK_HIGH, RISK_CRITICAL };

/* Bits: data that flows through a tool, and kinds of its arguments. */
enum risk_tag {
    RISK_TAG_SRC_UNTRUSTED = 1 << 0, /* returns text from untrusted authors */
    RISK_TAG_SRC_PRIVATE = 1 << 1,   /* returns private data of the owner */
    RISK_TAG_SINK = 1 << 2,          /* sends data out */
    RISK_TAG_EXEC = 1 << 3,
    RISK_TAG_MONEY = 1 << 4,
    RISK_TAG_META_TOOL = 1 << 5, /* calls other tools */
    RISK_TAG_FREEFORM_CODE = 1 << 6,
    RISK_TAG_PATH_ARGS = 1 << 7,
    RISK_TAG_URL_ARGS = 1 << 8,
    RISK_TAG_SQL_ARGS = 1 << 9,
};
#define RISK_TAGS 10

const char *risk_class_name(enum risk_class cls); /* "Read" ... "Financial" */
/* Case is ignored; RISK_NONE when it is no class. */
enum risk_class risk_class_from(struct slice name);
enum risk_severity risk_class_severity(enum risk_class cls);
const char *risk_severity_name(enum risk_severity severity);
const char *risk_tag_name(unsigned index); /* index below RISK_TAGS, of bit 1 << index */
const char *risk_tag_text(unsigned index); /* the same for people: "reads private data" */
/* The member "tags": the names of these bits. */
void risk_tags_put(struct emit *e, uint32_t tags);
