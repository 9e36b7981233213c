/* A certificate authority for the lifetime of the process; its key exists in memory only. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct egress_ca;

int egress_ca_new(struct egress_ca **ret_ca, struct err *err);
void egress_ca_free(struct egress_ca *ca); /* NULL is fine */
/* Its certificate, PEM, appended. */
int egress_ca_write(const struct egress_ca *ca, struct buf *out, struct err *err);
/* A certificate for that host and its key, PEM. */
int egress_ca_issue(const struct egress_ca *ca, struct slice host, struct buf *ret_cert, struct buf *ret_key,
                    struct err *err);
