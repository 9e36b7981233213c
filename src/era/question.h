/* A question that a legacy server asks during a call or a task, kept until a modern client answers it. */
#pragma once

#include "channel/channel.h"
#include "wire/emit.h"

#define QUESTION_KEY_MAX 16

struct server_question {
    struct list node;
    uint32_t number; /* its key is "q" and this number */
    char *server_id; /* raw */
    char *method;
    char *params; /* JSON in the modern form */
};

/* The server's text for the client: in the client's era, redacted. False: it must be withheld. *ret_text
 * is the server's original, for comparison. */
bool question_words(struct channel *ch, const struct tape *t, uint32_t params, struct arena *a,
                    struct slice *ret_text, struct slice *ret_shown);
void question_init(struct server_question *q, uint32_t number, struct slice server_id, struct slice method,
                   struct slice params);
void question_clear(struct server_question *q); /* removes it from its list, too */
struct slice question_key(const struct server_question *q, char text[QUESTION_KEY_MAX]);
/* Writes "q1":{"method":…,"params":…}, a member of the open object. */
void question_emit(const struct server_question *q, struct emit *e);
/* Sends the client's answer to the server. */
void question_answer(const struct server_question *q, struct channel *ch, struct slice json);
