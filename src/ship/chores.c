#include "ship/chores.h"

#include "audit/limits.h"
#include "base/buf.h"
#include "base/hex.h"
#include "base/rand.h"
#include "ship/limits.h"

#include <stdio.h>

int chores_retire(struct state_chains *chains, uint64_t keep_ms, const struct chores_record *record,
                  struct err *err) {
    char day[STATE_DAY_TEXT], digest[SHA_HEX], text[128];
    int found = 0;
    for (int i = 0; keep_ms && i < SHIP_DAYS_MAX; i++) {
        found = state_chains_old_day(chains, keep_ms, day, err);
        if (found <= 0)
            break;
        if (state_chains_note_day(chains, day, digest, err) < 0)
            return -1;
        snprintf(text, sizeof(text), "{\"day\":\"%s\",\"digest\":\"%.*s\"}", day, SHA_HEX, digest);
        if (record->put(record->owner, "fleet_retired", slice_str(text), err) < 0 ||
            state_chains_drop_day(chains, day, err) < 0)
            return -1;
    }
    return found < 0 ? -1 : 0;
}

/* ---- witnesses ---- */

struct witness {
    const struct state_chain *own;
    struct state_chain picked[SHIP_WITNESS_MAX];
    size_t count;
    uint64_t seen;
};

/* Every other chain has the same probability. */
static bool pick(void *ctx, const struct state_chain *chain) {
    struct witness *w = ctx;
    if (chain->id == w->own->id || chain->seq == chain->base_seq)
        return true;
    uint64_t at;
    rand_bytes(&at, sizeof(at));
    at = w->count < SHIP_WITNESS_MAX ? w->count++ : at % (w->seen + 1);
    w->seen++;
    if (at < SHIP_WITNESS_MAX)
        w->picked[at] = *chain;
    return true;
}

int chores_witness(struct state_chains *chains, const struct state_chain *own,
                   const struct chores_record *record, struct err *err) {
    struct witness w = {.own = own};
    cleanup_buf struct buf text;
    buf_init(&text, AUDIT_FIELD_MAX);
    if (state_chains_each(chains, (struct slice){0}, pick, &w, err) < 0)
        return -1;
    for (size_t i = 0; i < w.count; i++) {
        char log[2 * STATE_LOG_ID + 1], hash[2 * SHA_BYTES + 1];
        hex_str(w.picked[i].log, STATE_LOG_ID, log);
        hex_str(w.picked[i].hash, SHA_BYTES, hash);
        buf_printf(&text, "%s%s %llu %s", i ? "\n" : "", log, (unsigned long long)w.picked[i].seq, hash);
    }
    return w.count && !text.full ? record->put(record->owner, "fleet_ends", buf_slice(&text), err) : 0;
}
