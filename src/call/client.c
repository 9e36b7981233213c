#include "call/client.h"

#include <stdio.h>

static void forget_meta(struct session *s) {
    text_free(&s->client_meta);
    text_free(&s->client_task_meta);
}

void client_keep_initialize(struct session *s, struct slice params) {
    if (params.len > SESSION_INIT_MAX)
        return;
    text_set(&s->init_params, params);
    s->init_done = true;
    forget_meta(s);
}

void client_set_version(struct session *s, struct slice version) {
    snprintf(s->version, sizeof(s->version), "%.*s", SLICE_FMT(version));
}

void client_set_level(struct session *s, struct slice level) {
    snprintf(s->log_level, sizeof(s->log_level), "%.*s", SLICE_FMT(level));
    forget_meta(s);
}

void client_set_meta(struct session *s, struct slice meta, struct slice task_meta, uint32_t bits) {
    text_set(&s->client_meta, meta);
    text_set(&s->client_task_meta, task_meta);
    s->client_bits = bits;
}

void client_free(struct session *s) {
    text_free(&s->init_params);
    forget_meta(s);
}
