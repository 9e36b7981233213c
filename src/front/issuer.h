/* An identity provider: its keys, fetched and refreshed. A token with an unknown key causes a new fetch,
 * rate-limited so that the gate cannot be used to flood the provider.
 *
 *   issuer ── /.well-known/openid-configuration (or oauth-authorization-server) ── jwks_uri ──▶ keys
 */
#pragma once

#include "crypto/jwt.h"
#include "front/limits.h"
#include "upstream/fetch.h"

struct front_issuer;
struct settings_issuer;

/* `changed` is called whenever the keys have changed or an attempt to fetch them has ended. */
struct front_issuer *front_issuer_new(const struct settings_issuer *settings, const char *resource,
                                      struct up_core *core, void (*changed)(void *owner), void *owner);
void front_issuer_free(struct front_issuer *i); /* NULL is fine */
const char *front_issuer_name(const struct front_issuer *i);
const struct settings_issuer *front_issuer_settings(const struct front_issuer *i);

/* Verifies a token of this issuer. `endpoint` is the URL of the requested resource, or empty. */
enum jwt_fault front_issuer_judge(struct front_issuer *i, const struct jwt *jwt, struct slice endpoint,
                                  uint64_t now_ms, uint64_t *ret_expires_ms);
/* The same for an ID token for the console. Its expiry is not checked: the console session has its own. */
enum jwt_fault front_issuer_judge_id(struct front_issuer *i, const struct jwt *jwt, uint64_t now_ms);
bool front_issuer_has_keys(const struct front_issuer *i);
/* A token has an unknown key. Returns true if keys are being fetched; `changed` follows. */
bool front_issuer_ask(struct front_issuer *i);
