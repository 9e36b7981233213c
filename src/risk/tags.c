/* Flow tags of a tool. */
#include "risk/facts.h"

#include "wire/emit.h"

static const char *const names[RISK_TAGS] = {
    "src_untrusted", "src_private",   "sink",      "exec",     "money",
    "meta_tool",     "freeform_code", "path_args", "url_args", "sql_args",
};

static const char *const texts[RISK_TAGS] = {
    "reads untrusted text", "reads private data", "sends data out", "runs programs", "moves money",
    "calls other tools",    "takes code",         "takes paths",    "takes URLs",    "takes SQL",
};

const char *risk_tag_name(unsigned index) { return names[index]; }

const char *risk_tag_text(unsigned index) { return texts[index]; }

void risk_tags_put(struct emit *e, uint32_t tags) {
    emit_key(e, "tags");
    emit_array(e);
    for (unsigned i = 0; i < RISK_TAGS; i++)
        if (tags & 1u << i)
            emit_cstr(e, names[i]);
    emit_array_end(e);
}

/* "call_tool", or code with access to other servers. */
static bool calls_tools(const struct risk_facts *f) {
    static const char *const phrases[] = {"mcp server", "mcp tool", "other tools", "other servers", NULL};
    if (f->name_nouns & NOUN_META)
        return true;
    for (const char *const *p = phrases; *p; p++)
        if (risk_contains(f->lower, *p))
            return true;
    return false;
}

uint32_t risk_tags_of(const struct risk_facts *f, enum risk_class cls) {
    uint32_t nouns = f->name_nouns | f->first_nouns, tags = 0;
    if (cls == RISK_READ) {
        if (nouns & NOUN_UNTRUSTED || f->hint_open_world || f->params & RISK_PARAM_URL)
            tags |= RISK_TAG_SRC_UNTRUSTED;
        if (nouns & NOUN_PRIVATE)
            tags |= RISK_TAG_SRC_PRIVATE;
    }
    if (f->ctx->browser && cls == RISK_EXECUTE)
        tags |= RISK_TAG_SRC_UNTRUSTED | RISK_TAG_SINK;
    if (cls == RISK_WRITE && (nouns & NOUN_SINK || f->params & RISK_PARAM_URL))
        tags |= RISK_TAG_SINK;
    if (cls == RISK_READ && f->params & RISK_PARAM_URL)
        tags |= RISK_TAG_SINK; /* a URL can carry data out */
    if (cls == RISK_EXECUTE)
        tags |= RISK_TAG_EXEC;
    if (cls == RISK_FINANCIAL)
        tags |= RISK_TAG_MONEY | RISK_TAG_SINK;
    if (f->params & RISK_PARAM_CODE || (f->params & RISK_PARAM_COMMAND && cls == RISK_EXECUTE))
        tags |= RISK_TAG_FREEFORM_CODE;
    if (cls == RISK_EXECUTE && tags & RISK_TAG_FREEFORM_CODE)
        tags |= RISK_TAG_SINK;
    if (cls == RISK_EXECUTE && calls_tools(f))
        tags |= RISK_TAG_META_TOOL;
    if (f->params & RISK_PARAM_PATH)
        tags |= RISK_TAG_PATH_ARGS;
    if (f->params & RISK_PARAM_URL)
        tags |= RISK_TAG_URL_ARGS;
    if (f->params & RISK_PARAM_SQL)
        tags |= RISK_TAG_SQL_ARGS;
    return tags;
}
