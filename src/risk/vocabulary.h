/* The vocabulary of the classifier: the meaning of a word in the name of a tool or at the start of its
 * description. The words are English verbs and nouns, not names of tools or servers. */
#pragma once

#include "risk/class.h"

enum word_kind {
    WORD_NOUN,  /* has only noun bits */
    WORD_FILL,  /* carries no meaning: "this", "tool", "bulk" */
    WORD_VERB,  /* an action wherever it stands */
    WORD_WEAK,  /* an action only when there is no stronger word: "status", "post", "type" */
    WORD_BROAD, /* "manage": another word has the action */
};

/* How the class of a verb depends on its object. */
enum word_rule {
    WORD_FIXED,
    WORD_QUERY,    /* raw SQL is Execute, other questions are Read */
    WORD_RUN,      /* running a report is Read */
    WORD_TEST,     /* testing a connection is Read */
    WORD_STOP,     /* terminating a machine is Destructive */
    WORD_CANCEL,   /* money: Financial; a running job: Execute */
    WORD_CREATE,   /* a deployment, a call: Execute; an invoice: Financial */
    WORD_MONEY,    /* Financial when money is the object */
    WORD_BOOK,     /* Financial when what is booked costs something */
    WORD_RESTORE,  /* a whole project or database: Execute */
    WORD_GENERATE, /* media: Execute; charts, types, text: Read */
    WORD_EXPORT,   /* to a file: Write */
    WORD_CONVERT,  /* of a file: Write */
    WORD_RESOLVE,  /* a name: Read; an issue: Write */
    WORD_UI,       /* in a browser or on a device: Execute */
    WORD_GO,       /* navigating in a browser: Execute; through a list, or waiting for a run: Read */
    WORD_APPLY,    /* infrastructure: Execute; a change: Write */
    WORD_MAKE,     /* a request: Execute; else like create */
    WORD_PICK,     /* in a browser: Execute; else a question */
    WORD_SNAPSHOT, /* of a machine: Write; of a page: Read */
    WORD_OPEN,     /* a document: Read; in a browser: Execute */
    WORD_MANAGE,   /* a pipeline or stack: Execute */
    WORD_PERFORM,  /* nothing by itself */
    WORD_SUBMIT,   /* a job: Execute; a form: Write */
    WORD_CAPTURE,  /* a note: Write; the screen: Read */
    WORD_TRACK,    /* an event or time: Write; the progress of something: Read */
    WORD_REPORT,   /* with a message to somebody: Write; else Read */
    WORD_EVALUATE, /* code: Execute; a value: Read */
    WORD_ANSWER,   /* stored under an id: Write */
    WORD_BUILD,    /* data: Write; programs: Execute */
    WORD_SWAP,     /* Financial at a server that handles money */
    WORD_SCALE,    /* machines: Execute; a picture: Write */
    WORD_SOFT,     /* Destructive, unless it is one of several small edits */
};

enum word_noun {
    NOUN_PROC = 1 << 0,     /* a process that creating starts */
    NOUN_JOB = 1 << 1,      /* something that runs and can be canceled */
    NOUN_MONEY = 1 << 2,    /* a transfer of money */
    NOUN_TRADE = 1 << 3,    /* money only at a server that handles money */
    NOUN_NOTMONEY = 1 << 4, /* after a money word: only about money */
    NOUN_MEDIA = 1 << 5,
    NOUN_REPORT = 1 << 6, /* the result of reading */
    NOUN_UI = 1 << 7,
    NOUN_GESTURE = 1 << 8, /* a verb that is only used with a browser or a device */
    NOUN_MINOR = 1 << 9,   /* minor things whose removal is an edit */
    NOUN_UNTRUSTED = 1 << 10,
    NOUN_PRIVATE = 1 << 11,
    NOUN_SINK = 1 << 12,
    NOUN_MACHINE = 1 << 13,
    NOUN_WHOLE = 1 << 14, /* something that is restored as a unit */
    NOUN_NAME = 1 << 15,  /* something that a resolver looks up */
    NOUN_LINK = 1 << 16,  /* something that a test only probes */
    NOUN_PAID = 1 << 17,
    NOUN_META = 1 << 18,
    NOUN_GUIDE = 1 << 19,
    NOUN_STATEMENT = 1 << 20, /* of a query language */
    NOUN_TEXT = 1 << 21,      /* generated and only returned */
    NOUN_CHART = 1 << 22,     /* generated, only returned, and drawn */
    NOUN_INFRA = 1 << 23,
    NOUN_REQUEST = 1 << 24,
    NOUN_DEED = 1 << 25,   /* a verb that also names its result: build, run */
    NOUN_ENGINE = 1 << 27, /* something that runs programs, at the end of a name */
    NOUN_COIN = 1 << 28,   /* shows that the server handles coins */
    NOUN_SUM = 1 << 29,    /* numbers that are summed */
    NOUN_STATE = 1 << 26,  /* after a deed: its status, its logs */
    NOUN_ACT = 1 << 30,    /* a weak verb that is one at the beginning of a name: export, load */
};

struct risk_word {
    const char *text;
    uint8_t cls;  /* enum risk_class */
    uint8_t kind; /* enum word_kind */
    uint8_t rule; /* enum word_rule */
    uint32_t nouns;
};

/* Exact form, lower case; NULL when unknown. */
const struct risk_word *risk_word_find(struct slice text);
/* Finds the verb of a third person or an -ing form too. *ret_form: 0 as it is, 's' or 'g'. */
const struct risk_word *risk_word_find_form(struct slice text, char *ret_form);
/* For the tests: the table must be in order. */
const struct risk_word *risk_word_table(size_t *ret_count);
