#include "policy/method.h"

#include "base/fold.h"
#include "base/mem.h"

#define NAME_MAX_READ 128 /* characters of a field's name or title that are looked at */

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
static struct slice letters_of(struct slice text, char ret_letters[NAME_MAX_READ]) {
    size_t n = 0;
    for (size_t i = 0; i < text.len && n < NAME_MAX_READ; i++) {
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
    const struct slice letters = letters_of(fold_text(method, a), mine);
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (slice_eq_nocase(letters, letters_of(slice_str(known[i]), theirs)))
            return true;
    return false;
}

static bool names_credential(struct slice text) {
    static const char *const words[] = {
        "password",   "passwd",     "passphrase", "passcode",       "secret",    "apikey",
        "accesskey",  "privatekey", "secretkey",  "accesstoken",    "authtoken", "bearertoken",
        "credential", "seedphrase", "mnemonic",   "onetimecode",    "otpcode",   "totp",
        "cvv",        "cardnumber", "creditcard", "socialsecurity", "sessionid", "cookie",
    };
    static const char *const whole[] = {"token", "pin", "otp", "ssn", "pwd", "cvc", "jwt"};
    char letters[NAME_MAX_READ];
    const struct slice plain = letters_of(text, letters);
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (plain.len && memmem(plain.ptr, plain.len, words[i], strlen(words[i])))
            return true;
    for (size_t i = 0; i < ARRAY_LEN(whole); i++)
        if (slice_is(plain, whole[i]))
            return true;
    return false;
}

static bool member_names_credential(const struct tape *t, uint32_t field, const char *member,
                                    struct arena *a) {
    const uint32_t node = tape_is(t, field, TAPE_OBJECT) ? tape_get_str(t, field, member) : 0;
    return node && tape_is(t, node, TAPE_STRING) && names_credential(tape_text(t, node, a));
}

static bool asks_credential(const struct tape *t, uint32_t params, struct arena *a) {
    const uint32_t fields = tape_path(t, params, "requestedSchema", "properties", NULL);
    if (!fields || !tape_is(t, fields, TAPE_OBJECT))
        return false;
    TAPE_FOR_MEMBER(t, fields, key) {
        if (names_credential(tape_text(t, key, a)) || member_names_credential(t, key + 1, "title", a) ||
            member_names_credential(t, key + 1, "description", a))
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
