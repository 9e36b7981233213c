/* The arguments of a tools/call. */
#pragma once

#include "code/model.h"

/* Checks them against the tool's input schema. False: answered with the error. */
bool code_arg_check(struct code_req *r);

/* ---- one argument, after that check ---- */
struct slice code_arg_text(struct code_req *r, const char *key, struct slice fallback);
int64_t code_arg_int(struct code_req *r, const char *key, int64_t fallback);
bool code_arg_bool(struct code_req *r, const char *key, bool fallback);
uint32_t code_arg_node(struct code_req *r, const char *key); /* 0 if absent or null */
