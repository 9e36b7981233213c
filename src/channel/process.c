#include "channel/process.h"

#include "call/principal.h"
#include "channel/limits.h"

static struct slice owner_of(const struct channel *ch) { return slice_str(ch->session->principal->id); }

/* Without authentication there is one client, and only the ceiling for all applies. */
static bool is_whole(const struct channel *ch) { return ch->session->principal->kind == PRINCIPAL_LOCAL; }

static size_t left_for(const struct channel *ch) {
    const struct core *core = ch->session->core;
    const uint32_t most = core->channels->processes_max, grant = core->channels->grant_processes_max;
    const size_t left = portion_left(most ? most : CHANNEL_PROCESSES_MAX, core->up.process_count);
    return grant && !is_whole(ch) && grant < left ? grant : left;
}

bool channel_process_fits(const struct channel *ch) {
    const size_t left = left_for(ch);
    return !ch->server->up.argv ||
           (left && portion_fits(&ch->session->core->up.processes, owner_of(ch), is_whole(ch), left));
}

void channel_process_count(struct channel *ch) {
    if (ch->server->up.argv)
        link_count_process(ch->link, owner_of(ch));
}

struct slice channel_process_refusal(const struct channel *ch, struct arena *a) {
    const struct portion *own = map_get(&ch->session->core->up.processes, owner_of(ch));
    const char *name = ch->server->up.name;
    const uint32_t count = own ? own->count : 0;
    if (is_whole(ch) || !left_for(ch))
        return arena_printf(a,
                            "server `%s` cannot be started: %u server processes are running, as many as "
                            "there may be; end sessions that are not used (setting sessions.processes)",
                            name, ch->session->core->up.process_count);
    return arena_printf(a,
                        "server `%s` cannot be started: this grant has %u server processes, as many as it "
                        "may have; end sessions that are not used (settings sessions.processes and "
                        "sessions.processes_per_grant)",
                        name, count);
}
