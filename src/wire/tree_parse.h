/* Configuration documents: YAML or JSON parsed into one strict tree with positions. YAML is read by libyaml
 * events, with aliases and merge keys resolved: no tags, duplicate keys, several documents or non-string
 * keys. JSON is read by the tape, as strictly. Scalars are typed by the YAML 1.2 core schema (yes/no/on/off
 * are strings), with the 1_000 and 0b11 of YAML 1.1. A leading zero is refused, because it is octal in YAML
 * 1.1 and decimal in 1.2; quoted scalars are always strings. Refused in both formats: unescaped control
 * characters, Unicode line separators and bidirectional overrides, NUL however written, numbers that are not
 * finite. */
#pragma once

#include "wire/tree.h"

/* JSON when the first byte that is not white space is '{' or '[', unless its syntax is not that of JSON;
 * otherwise YAML. One byte-order mark in front is skipped. Errors read "line L, column C: what". */
int tree_parse(struct slice text, struct arena *a, const struct tree **ret_root, struct err *err);
int tree_parse_yaml(struct slice text, struct arena *a, const struct tree **ret_root, struct err *err);
int tree_parse_json(struct slice text, struct arena *a, const struct tree **ret_root, struct err *err);
