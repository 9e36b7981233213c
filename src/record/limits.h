/* Ceilings of the record room; docs/limits.md lists them. */
#pragma once

#define METRICS_CELLS_MAX 2000   /* combinations of server, method and tool that are counted separately */
#define METRICS_NAME_MAX 128     /* bytes of a name in one */
#define SPAN_WAITING_MAX 4096    /* spans queued for the collector; more are dropped */
#define SPAN_GROUP 512           /* spans sent together */
#define SPAN_SEND_MS 1000        /* the longest time until they are sent */
#define SPAN_ANSWER_MS 10000     /* for the collector's answer */
#define SPAN_TEXT_MAX 128        /* bytes of one text of a span */
#define SPAN_BODY_MAX (4u << 20) /* bytes of one group */
#define SPAN_HEADERS_MAX 16384   /* bytes of headers for the collector */
