/* Inside the room: all facts about one tool that the classifier uses, collected once. */
#pragma once

#include "risk/class.h"
#include "risk/split.h"
#include "risk/toolset.h"
#include "risk/vocabulary.h"

enum risk_param {
    RISK_PARAM_CODE = 1 << 0,
    RISK_PARAM_COMMAND = 1 << 1,
    RISK_PARAM_SQL = 1 << 2,
    RISK_PARAM_PATH = 1 << 3,
    RISK_PARAM_URL = 1 << 4,
    RISK_PARAM_ROUTED = 1 << 5,     /* `command` with `parameters`: one tool for many */
    RISK_PARAM_OUTPUT = 1 << 6,     /* a file that must be written */
    RISK_PARAM_REMOTE = 1 << 7,     /* every path is remote */
    RISK_PARAM_ID = 1 << 8,         /* the id of a stored object */
    RISK_PARAM_CONTENT = 1 << 9,    /* text to store or send */
    RISK_PARAM_MESSAGE = 1 << 10,   /* text for a person */
    RISK_PARAM_PROMPT = 1 << 11,    /* a text for a model */
    RISK_PARAM_PAYMENT = 1 << 12,   /* a payment method */
    RISK_PARAM_TARGET = 1 << 13,    /* a file that may be written */
    RISK_PARAM_NEW = 1 << 14,       /* the name of what is made */
    RISK_PARAM_QUESTION = 1 << 15,  /* a query in whatever language */
    RISK_PARAM_TOOL = 1 << 16,      /* the name of another tool */
    RISK_PARAM_ARGUMENTS = 1 << 17, /* and what it is called with */
    RISK_PARAM_INPUT = 1 << 18,     /* what is turned */
    RISK_PARAM_RESULT = 1 << 19,    /* into what */
};

struct risk_facts {
    const struct risk_toolset *ctx;
    struct slice name;
    struct slice tokens[RISK_NAME_TOKENS_MAX];
    const struct risk_word *words[RISK_NAME_TOKENS_MAX]; /* NULL when unknown */
    size_t count;
    struct slice lower; /* description, lower case */
    struct risk_token prose[RISK_PROSE_WORDS_MAX];
    const struct risk_word *prose_words[RISK_PROSE_WORDS_MAX];
    char prose_forms[RISK_PROSE_WORDS_MAX];
    size_t prose_count;
    size_t sentence_end; /* words of the first sentence */
    uint32_t name_nouns;
    uint32_t first_nouns; /* of the first sentence */
    uint32_t params;      /* enum risk_param bits */
    uint32_t prop_count;
    uint32_t path_count;      /* parameters that are paths */
    uint32_t operand_count;   /* numbers with a name of one letter */
    struct slice freeform;    /* the property that takes code or a command */
    enum risk_class op_class; /* the worst value of an operation enum; RISK_NONE without one */
    struct slice op_text;
    struct slice op_free_text; /* description of an operation parameter without an enum; lower case */
    bool op_free;
    bool op_named; /* the parameter is called `action` or the like */
    bool op_whole; /* every value is a known verb */
    bool op_ui;    /* a value is done to a screen */
    bool op_soft;  /* the worst value is a removal that may be a minor edit */
    bool described_read_only;
    bool ui;
    bool made_as; /* a parameter says where the result goes */
    bool money;
    bool side;   /* a parameter says whether to buy or to sell */
    bool sized;  /* and one how much */
    bool trades; /* the server is there for trading */
    bool hint_read_only;
    bool hint_mutates; /* readOnlyHint false */
    bool hint_destructive;
    bool hint_open_world;
};

void risk_facts_gather(struct risk_facts *f, const struct risk_toolset *ctx, const struct tape *t,
                       uint32_t tool, struct arena *a);
/* The class of a verb, given its object: `object` has the noun bits of the words around it. */
enum risk_class risk_verb_class(const struct risk_facts *f, const struct risk_word *verb, uint32_t object);
/* Raw statements, of any kind: "Execute an INSERT, UPDATE or DELETE query". */
bool risk_verb_states(const struct risk_facts *f);
uint32_t risk_tags_of(const struct risk_facts *f, enum risk_class cls);
