#include "policy/method.h"

#include "base/fold.h"
#include "base/mem.h"

#define NAME_MAX_READ 128 /* bytes of a method that may imitate a known one */

static const char *const known[] = {
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "tasks/get",
    "tasks/update",
    "tasks/result",
    "tasks/list",
    "tasks/cancel",
    "server/discover",
    "subscriptions/listen",
    "sampling/createMessage",
    "elicitation/create",
    "roots/list",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/message",
    "notifications/roots/list_changed",
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    "notifications/tasks/status",
    "notifications/elicitation/complete",
    "notifications/subscriptions/acknowledged",
};

bool policy_method_known(struct slice method) {
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (slice_is(method, known[i]))
            return true;
    return false;
}

/* "API key" and "api_key" are "apikey". */
static struct slice letters_of(struct slice text, char *ret_letters, size_t max) {
    size_t n = 0;
    for (size_t i = 0; i < text.len && n < max; i++) {
        char c = text.ptr[i];
        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80)
            ret_letters[n++] = c;
    }
    return slice_of(ret_letters, n);
}

bool policy_method_imitates(struct slice method, struct arena *a) {
    char mine[NAME_MAX_READ], theirs[NAME_MAX_READ];
    if (method.len > NAME_MAX_READ || policy_method_known(method))
        return false;
    const struct slice letters = letters_of(fold_text(method, a), mine, sizeof(mine));
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (slice_eq_nocase(letters, letters_of(slice_str(known[i]), theirs, sizeof(theirs))))
            return true;
    return false;
}

/* Words that name a credential anywhere in a text. In prose some of them have another meaning. */
static const struct {
    const char *word;
    bool in_prose;
} credentials[] = {
    {"password", true},    {"passwd", true},      {"passphrase", true},  {"passcode", true},
    {"apikey", true},      {"accesskey", true},   {"privatekey", true},  {"secretkey", true},
    {"accesstoken", true}, {"authtoken", true},   {"bearertoken", true}, {"seedphrase", true},
    {"mnemonic", true},    {"onetimecode", true}, {"otpcode", true},     {"totp", true},
    {"cvv", true},         {"cardnumber", true},  {"creditcard", true},  {"socialsecurity", true},
    {"secret", false},     {"credential", false}, {"sessionid", false},  {"cookie", false},
};

static bool names_credential(struct slice text, bool in_prose, struct arena *a) {
    static const char *const whole[] = {"token", "pin", "otp", "ssn", "pwd", "cvc", "jwt"};
    const struct slice folded = fold_text(text, a);
    const struct slice plain = letters_of(folded, arena_alloc(a, folded.len), folded.len);
    for (size_t i = 0; i < ARRAY_LEN(credentials); i++) {
        const char *word = credentials[i].word;
        if (in_prose <= credentials[i].in_prose && plain.len &&
            memmem(plain.ptr, plain.len, word, strlen(word)))
            return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(whole); i++)
        if (slice_is(plain, whole[i]))
            return true;
    return false;
}

static bool member_names_credential(const struct tape *t, uint32_t object, const char *member, bool in_prose,
                                    struct arena *a) {
    const uint32_t node = tape_is(t, object, TAPE_OBJECT) ? tape_get_str(t, object, member) : 0;
    return node && tape_is(t, node, TAPE_STRING) && names_credential(tape_text(t, node, a), in_prose, a);
}

/* May a person type any text into the field? */
static bool is_free_text(const struct tape *t, uint32_t field) {
    const uint32_t type = tape_is(t, field, TAPE_OBJECT) ? tape_get_str(t, field, "type") : 0;
    return !type || (tape_eq(t, type, SLICE("string")) && !tape_get_str(t, field, "enum") &&
                     !tape_get_str(t, field, "oneOf"));
}

static bool asks_credential(const struct tape *t, uint32_t params, struct arena *a) {
    const uint32_t fields = tape_path(t, params, "requestedSchema", "properties", NULL);
    const bool in_message = member_names_credential(t, params, "message", true, a);
    if (!fields || !tape_is(t, fields, TAPE_OBJECT))
        return false;
    TAPE_FOR_MEMBER(t, fields, key) {
        if (names_credential(tape_text(t, key, a), false, a) ||
            member_names_credential(t, key + 1, "title", false, a) ||
            member_names_credential(t, key + 1, "description", false, a) ||
            (in_message && is_free_text(t, key + 1)))
            return true;
    }
    return false;
}

const char *policy_elicitation_fault(const struct tape *t, uint32_t params, struct arena *a) {
    if (!params || !tape_is(t, params, TAPE_OBJECT))
        return NULL;
    const uint32_t url = tape_get_str(t, params, "url");
    if (url && (!tape_is(t, url, TAPE_STRING) || !slice_starts(tape_text(t, url, a), SLICE("https://"))))
        return "A server may send a person only to an https address";
    return asks_credential(t, params, a) ? "A server may not ask a person for credentials" : NULL;
}
