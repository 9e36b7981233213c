/* What a legacy server asks in the middle of a call or a task, kept until a modern client
 * answers it. */
#pragma once

#include "channel/channel.h"
#include "wire/emit.h"

#define QUESTION_KEY_MAX 16

struct server_question {
    struct list node;
    uint32_t number; /* its key is "q" and this */
    char *server_id; /* raw */
    char *method;
    char *params; /* JSON in the words of the modern era */
};

/* A server's text as the client gets it: in the client's era, redacted. False: the text must be withheld.
 * *ret_said is the server's original, for comparison. */
bool question_words(struct channel *ch, const struct tape *t, uint32_t params, struct arena *a,
                    struct slice *ret_said, struct slice *ret_shown);
void question_init(struct server_question *q, uint32_t number, struct slice server_id, struct slice method,
                   struct slice params);
void question_clear(struct server_question *q); /* and out of its list */
struct slice question_key(const struct server_question *q, char text[QUESTION_KEY_MAX]);
/* "q1":{"method":…,"params":…}, a member of the object that is open. */
void question_emit(const struct server_question *q, struct emit *e);
/* The client's answer, to the server. */
void question_answer(const struct server_question *q, struct channel *ch, struct slice json);
