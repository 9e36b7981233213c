#include "policy/method.h"

#include "base/fold.h"
#include "base/glyph.h"
#include "base/mem.h"

#define NAME_MAX_READ 128 /* bytes of a method that may imitate a known one */
#define LETTERS_ROOM 4    /* for one more character */

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

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80;
}

/* "API key" and "api_key" are "apikey". */
static struct slice letters_of(struct slice text, char *ret_letters, size_t max) {
    size_t n = 0, size = 0;
    for (size_t i = 0; i < text.len && n + LETTERS_ROOM <= max; i += size) {
        if (glyph_is_invisible(glyph_next(text, i, &size)))
            continue;
        for (size_t k = i; k < i + size; k++) {
            char c = text.ptr[k];
            if (c >= 'A' && c <= 'Z')
                c = (char)(c - 'A' + 'a');
            if (is_letter(c))
                ret_letters[n++] = c;
        }
    }
    return slice_of(ret_letters, n);
}

bool policy_method_imitates(struct slice method, struct arena *a) {
    char mine[NAME_MAX_READ + LETTERS_ROOM], theirs[NAME_MAX_READ + LETTERS_ROOM];
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
    {"password", true},
    {"passwd", true},
    {"passphrase", true},
    {"passcode", true},
    {"apikey", true},
    {"apitoken", true},
    {"accesskey", true},
    {"privatekey", true},
    {"secretkey", true},
    {"signingkey", true},
    {"encryptionkey", true},
    {"sshkey", true},
    {"accesstoken", true},
    {"authtoken", true},
    {"bearertoken", true},
    {"refreshtoken", true},
    {"seedphrase", true},
    {"recoveryphrase", true},
    {"recoverycode", true},
    {"backupcode", true},
    {"verificationcode", true},
    {"authenticationcode", true},
    {"securitycode", true},
    {"mnemonic", true},
    {"onetimecode", true},
    {"otpcode", true},
    {"pincode", true},
    {"totp", true},
    {"cvv", true},
    {"cardnumber", true},
    {"creditcard", true},
    {"socialsecurity", true},
    {"secret", false},
    {"credential", false},
    {"sessionid", false},
    {"cookie", false},
    /* password in other languages */
    {"contrase\u00f1a", true},
    {"contrasena", true},
    {"passwort", true},
    {"kennwort", true},
    {"motdepasse", true},
    {"senha", false},
    {"wachtwoord", true},
    {"l\u00f6senord", true},
    {"passord", true},
    {"adgangskode", true},
    {"salasana", true},
    {"has\u0142o", true},
    {"heslo", true},
    {"jelsz\u00f3", true},
    {"parola", false},
    {"\u015fifre", true},
    {"\u043f\u0430\u0440\u043e\u043b\u044c", true},
    {"\u5bc6\u7801", true},
    {"\u5bc6\u78bc", true},
    {"\u30d1\u30b9\u30ef\u30fc\u30c9", true},
    {"\ube44\ubc00\ubc88\ud638", true},
    {"\u0643\u0644\u0645\u0629\u0627\u0644\u0645\u0631\u0648\u0631", true},
    {"\u05e1\u05d9\u05e1\u05de\u05d4", true},
};

static bool names_credential(struct slice text, bool in_prose, struct arena *a) {
    const struct slice folded = fold_text(text, a);
    const struct slice plain =
        letters_of(folded, arena_alloc(a, folded.len + LETTERS_ROOM), folded.len + LETTERS_ROOM);
    for (size_t i = 0; i < ARRAY_LEN(credentials); i++) {
        const struct slice word = fold_text(slice_str(credentials[i].word), a);
        if (in_prose <= credentials[i].in_prose && plain.len &&
            memmem(plain.ptr, plain.len, word.ptr, word.len))
            return true;
    }
    return false;
}

/* Short words that name a credential only when they stand alone: pin, but not spinning. */
static bool is_credential_word(struct slice word) {
    static const char *const words[] = {"token", "pin", "otp", "ssn", "pwd", "pass",
                                        "cvc",   "jwt", "2fa", "mfa", "pat"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (slice_eq_nocase(word, slice_str(words[i])))
            return true;
    return false;
}

/* Latin letters together with Greek or Cyrillic ones, which look like others. */
static bool imitates_word(struct slice word) {
    bool latin = false, other = false;
    for (size_t i = 0, size; i < word.len; i += size) {
        uint32_t code = glyph_next(word, i, &size);
        latin |= (code | 0x20) >= 'a' && (code | 0x20) <= 'z';
        other |= code >= 0x370 && code < 0x530;
    }
    return latin && other;
}

/* A word ends where its letters end, and before a capital that follows a small letter: userToken. */
static bool is_word_end(struct slice text, size_t at) {
    char c = text.ptr[at], before = at ? text.ptr[at - 1] : '\0';
    bool is_upper = c >= 'A' && c <= 'Z';
    return !(is_letter(c) || is_upper) || (is_upper && before >= 'a' && before <= 'z');
}

static bool has_credential_word(struct slice text) {
    size_t start = 0;
    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len && !is_word_end(text, i))
            continue;
        struct slice word = slice_of(text.ptr + start, i - start);
        if (is_credential_word(word) || imitates_word(word))
            return true;
        start = i < text.len && is_letter((char)(text.ptr[i] | 0x20)) ? i : i + 1;
    }
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

/* A form hides what is typed into it. */
static bool is_hidden_input(const struct tape *t, uint32_t field) {
    if (!tape_is(t, field, TAPE_OBJECT))
        return false;
    const uint32_t format = tape_get_str(t, field, "format"), write = tape_get_str(t, field, "writeOnly");
    return (format && tape_eq(t, format, SLICE("password"))) || (write && tape_is(t, write, TAPE_TRUE));
}

static bool title_has_credential_word(const struct tape *t, uint32_t field, struct arena *a) {
    const uint32_t node = tape_is(t, field, TAPE_OBJECT) ? tape_get_str(t, field, "title") : 0;
    return node && tape_is(t, node, TAPE_STRING) && has_credential_word(tape_text(t, node, a));
}

/* A number may be a PIN; a switch or a choice is no credential. */
static bool field_asks_credential(const struct tape *t, uint32_t key, struct arena *a) {
    const uint32_t field = key + 1;
    const uint32_t type = tape_is(t, field, TAPE_OBJECT) ? tape_get_str(t, field, "type") : 0;
    const bool is_number = type && (tape_eq(t, type, SLICE("integer")) || tape_eq(t, type, SLICE("number")));
    const struct slice name = tape_text(t, key, a);
    if (names_credential(name, false, a) || member_names_credential(t, field, "title", false, a) ||
        member_names_credential(t, field, "description", false, a) || is_hidden_input(t, field))
        return true;
    if (is_number)
        return is_credential_word(name);
    return is_free_text(t, field) && (has_credential_word(name) || title_has_credential_word(t, field, a));
}

static bool asks_credential(const struct tape *t, uint32_t params, struct arena *a) {
    const uint32_t form = tape_get_str(t, params, "requestedSchema");
    const uint32_t fields = tape_path(t, params, "requestedSchema", "properties", NULL);
    if (!fields || !tape_is(t, fields, TAPE_OBJECT))
        return false;
    const bool in_message = member_names_credential(t, params, "message", true, a) ||
                            member_names_credential(t, form, "title", true, a) ||
                            member_names_credential(t, form, "description", true, a);
    TAPE_FOR_MEMBER(t, fields, key) {
        if (field_asks_credential(t, key, a) || (in_message && is_free_text(t, key + 1)))
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
