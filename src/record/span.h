/* Traces: each call is a span, continued from the client's trace context and handed on to the server. The
 * context travels in `_meta.traceparent` (W3C). Spans are kept in a table and sent in groups to an OTLP/HTTP
 * collector as JSON; what does not fit is dropped and counted, a call never waits for it. */
#pragma once

#include "call/core.h"

struct call;
struct splice;
struct span_exporter;

/* `url` is that of the collector; "/v1/traces" is added unless it ends so. NULL: the collector that
 * OTEL_EXPORTER_OTLP_TRACES_ENDPOINT (a complete URL) or OTEL_EXPORTER_OTLP_ENDPOINT names, if any. -1 when
 * the URL cannot be used. */
int span_exporter_start(struct core *core, const char *url, struct err *err);
void span_exporter_stop(struct core *core);

struct span_exporter_health {
    uint64_t sent;
    uint64_t dropped;
};
/* False when nothing is traced. */
bool span_exporter_health(const struct core *core, struct span_exporter_health *ret_health);

/* Once the params are known. Costs nothing while nothing is traced. */
void span_begin(struct call *c);
/* Our span as the parent of the server's: a JSON string, empty when nothing is traced. */
struct slice span_context(struct call *c);
/* Puts it into the message. */
void span_forward(struct call *c, struct splice *text);
/* The call is over; `outcome` is the log's name for it. */
void span_end(struct call *c, const char *outcome);
