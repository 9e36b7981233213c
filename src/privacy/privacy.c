#include "privacy/privacy.h"

#include "base/clock.h"
#include "base/mem.h"
#include "call/principal.h"
#include "call/trail.h"
#include "policy/match.h"
#include "privacy/limits.h"
#include "server/server.h"

void privacy_set(struct privacy *pii, const struct privacy_config *config) {
    if (!pii)
        return;
    pii->mode = config->mode;
    pii->arguments = config->arguments;
    pii->vaults.keep_ms = config->keep_ms ? config->keep_ms : PRIVACY_KEEP_MS;
}

static void rules_free(struct pii_rules *rules, struct pii_engine *engine) {
    pii_engine_free(engine);
    if (rules)
        arena_free(&rules->arena);
    free(rules);
}

static int load_rules(const char *path, struct pii_rules **ret_rules, struct pii_engine **ret_engine,
                      struct err *err) {
    struct pii_rules *rules = mem_zalloc(sizeof(*rules));
    arena_init(&rules->arena);
    if ((path && privacy_rules_load(path, rules, err) < 0) ||
        pii_engine_new(rules->custom, rules->custom_count, ret_engine, err) < 0) {
        rules_free(rules, NULL);
        return -1;
    }
    *ret_rules = rules;
    return 0;
}

int privacy_check(const char *path, struct err *err) {
    struct pii_rules *rules;
    struct pii_engine *engine;
    if (load_rules(path, &rules, &engine, err) < 0)
        return -1;
    rules_free(rules, engine);
    return 0;
}

/* Custom kinds are numbered in the order of the file: counts are carried over by name. */
static void renumber(const struct core *core, const struct pii_rules *to, const struct pii_engine *engine) {
    struct privacy *pii = core->privacy;
    const struct privacy_counts counts = pii->counts;
    int from[PII_KINDS_MAX];
    for (unsigned i = 0; i < PII_KINDS_MAX; i++) {
        bool custom = i >= PII_BUILTIN && i < PII_BUILTIN + to->custom_count;
        from[i] = i < PII_BUILTIN ? (int)i
                  : custom ? pii_engine_kind_from(pii->engine, slice_str(pii_engine_kind_name(engine, i)))
                           : -1;
        pii->counts.found[i] = from[i] < 0 ? 0 : counts.found[from[i]];
        pii->counts.sent[i] = from[i] < 0 ? 0 : counts.sent[from[i]];
    }
    size_t at = 0;
    for (struct map_entry *e; (e = map_next(&core->trails, &at));) {
        uint32_t *most = ((struct trail *)e->value)->pii_most, old[PII_KINDS_MAX];
        if (!most)
            continue;
        memcpy(old, most, sizeof(old));
        for (size_t i = 0; i < PII_KINDS_MAX; i++)
            most[i] = from[i] < 0 ? 0 : old[from[i]];
    }
}

int privacy_follow(struct core *core, const char *path, struct err *err) {
    struct privacy *pii = core->privacy;
    struct pii_rules *rules;
    struct pii_engine *engine;
    if (!pii)
        return 0;
    if (load_rules(path, &rules, &engine, err) < 0)
        return -1;
    renumber(core, rules, engine);
    vaults_set_engine(&pii->vaults, core, engine);
    rules_free(pii->rules, pii->engine);
    pii->rules = rules;
    pii->engine = engine;
    return 0;
}

int privacy_new(const struct privacy_config *config, struct privacy **ret_pii, struct err *err) {
    struct privacy *pii = mem_zalloc(sizeof(*pii));
    vaults_init(&pii->vaults, config->scope);
    privacy_set(pii, config);
    if (load_rules(config->rules, &pii->rules, &pii->engine, err) < 0 ||
        vaults_open(&pii->vaults, config->home, config->loop, err) < 0) {
        privacy_free(pii);
        return -1;
    }
    pii->vaults.engine = pii->engine;
    *ret_pii = pii;
    return 0;
}

void privacy_free(struct privacy *pii) {
    if (!pii)
        return;
    vaults_free(&pii->vaults);
    rules_free(pii->rules, pii->engine);
    free(pii);
}

struct vault *privacy_vault(struct session *s) {
    return s->core->privacy ? vault_of(&s->core->privacy->vaults, s) : NULL;
}

const struct privacy_counts *privacy_counts(const struct privacy *pii) { return &pii->counts; }

const char *privacy_kind_name(const struct privacy *pii, unsigned kind) {
    return kind < PII_BUILTIN + pii->rules->custom_count ? pii_engine_kind_name(pii->engine, kind) : NULL;
}

void privacy_count(struct privacy *pii, const struct filter_report *report) {
    for (size_t i = 0; report->found && i < PII_KINDS_MAX; i++)
        pii->counts.found[i] += report->counts[i];
    pii->counts.literals += report->literals;
    pii->counts.restored += report->restored;
    pii->counts.refused += report->refused_total;
    pii->counts.unknown += report->unknown;
}

/* Does any rule of this gate detect this kind? */
static bool is_detected(const struct core *core, unsigned kind) {
    const struct privacy *pii = core->privacy;
    const unsigned slot = kind < PII_BUILTIN ? kind : FILTER_MODE_CUSTOM;
    bool looks = pii->mode != FILTER_OFF;
    for (size_t i = 0; i < core->server_count && !looks; i++)
        looks = core->servers[i] && core->servers[i]->pii_set && core->servers[i]->pii != FILTER_OFF;
    if (looks && !(kind < PII_BUILTIN && PII_OPTIONAL & PII_BIT(kind)))
        return true;
    for (size_t i = 0; i < pii->rules->mode_count; i++)
        if (pii->rules->modes[i].kinds >> slot & 1 && pii->rules->modes[i].mode != FILTER_OFF)
            return true;
    return false;
}

const struct policy_pii *privacy_seen(const struct session *s, struct arena *a, size_t *ret_count) {
    const struct core *core = s->core;
    const char *name;
    size_t n = 0;
    if (!core->privacy)
        return NULL;
    struct policy_pii *seen = arena_array(a, struct policy_pii, PII_KINDS_MAX + 1);
    const struct trail *t = trail_of(s->core, s->principal->id);
    const uint32_t *most = t->pii_ms + core->flow_window_ms >= clock_wall_ms() ? t->pii_most : NULL;
    for (unsigned i = 0; (name = privacy_kind_name(core->privacy, i)); i++)
        if (is_detected(core, i))
            seen[n++] = (struct policy_pii){slice_str(name), most ? most[i] : 0};
    if (n) /* all kinds together */
        seen[n++].most = most ? most[PII_KINDS_MAX] : 0;
    *ret_count = n;
    return seen;
}

static void keep_most(uint32_t *most, uint32_t count) { *most = *most < count ? count : *most; }

void privacy_note(struct session *s, const struct filter_report *report) {
    privacy_count(s->core->privacy, report);
    if (!report->found)
        return;
    struct trail *t = trail_of(s->core, s->principal->id);
    if (!t->pii_most)
        t->pii_most = mem_zalloc((PII_KINDS_MAX + 1) * sizeof(*t->pii_most));
    t->pii_ms = clock_wall_ms();
    for (size_t i = 0; i < PII_KINDS_MAX; i++)
        keep_most(&t->pii_most[i], report->counts[i]);
    keep_most(&t->pii_most[PII_KINDS_MAX], report->found);
    trail_publish(t);
}

struct slice privacy_origin(const struct server *server) {
    return slice_str(server->origin ? server->origin : server->up.name);
}

static bool glob_fits(const char *glob, struct slice text) {
    return !glob || policy_glob_names(slice_str(glob), text);
}

static bool place_fits(const struct pii_place *p, const struct session *s, const struct server *server,
                       struct slice tool) {
    return glob_fits(p->server, slice_str(server->up.name)) && glob_fits(p->tool, tool) &&
           glob_fits(p->grant, slice_str(s->principal->grant));
}

static enum filter_mode mode_of(const struct privacy *pii, const struct server *server) {
    return server->pii_set ? server->pii : pii->mode;
}

static enum pii_arguments arguments_of(const struct privacy *pii, const struct server *server) {
    if (server->up.builtin) /* it runs inside the gate, and tokens are made there: only rules apply to it */
        return PII_ARGUMENTS_OFF;
    return pii->arguments;
}

void privacy_arguments(const struct session *s, const struct server *server, struct slice tool,
                       struct filter_rules *rules) {
    const struct privacy *pii = s->core->privacy;
    const enum pii_arguments mode = arguments_of(pii, server);
    const enum filter_mode results = mode == PII_ARGUMENTS_AUTO ? mode_of(pii, server) : FILTER_OFF;
    rules->plain_refused = rules->plain_noted = 0;
    if (mode == PII_ARGUMENTS_BLOCK || results == FILTER_BLOCK)
        rules->plain_refused = PII_DEFAULT;
    else if (results == FILTER_TOKENIZE || results == FILTER_REDACT)
        rules->plain_refused = PII_BIT(PII_SECRET);
    else if (mode == PII_ARGUMENTS_REPORT || results == FILTER_REPORT)
        rules->plain_noted = PII_DEFAULT;
    for (size_t i = 0; i < pii->rules->argument_count; i++) {
        const struct pii_argument_rule *r = &pii->rules->arguments[i];
        if (!place_fits(&r->place, s, server, tool))
            continue;
        rules->plain_refused &= ~r->kinds;
        rules->plain_noted &= ~r->kinds;
        if (r->mode == PII_ARGUMENTS_BLOCK)
            rules->plain_refused |= r->kinds;
        else if (r->mode == PII_ARGUMENTS_REPORT)
            rules->plain_noted |= r->kinds;
    }
}

uint64_t privacy_judged(const struct session *s, const struct server *server) {
    const struct privacy *pii = s->core->privacy;
    struct filter_rules rules;
    const struct policy *policy = server_policy(s, server);
    if (policy && policy_wants_detector(policy))
        return PII_DEFAULT;
    privacy_arguments(s, server, (struct slice){0}, &rules);
    uint64_t kinds = rules.plain_refused | rules.plain_noted;
    for (size_t i = 0; i < pii->rules->argument_count; i++)
        if (pii->rules->arguments[i].mode != PII_ARGUMENTS_OFF)
            kinds |= pii->rules->arguments[i].kinds;
    return kinds;
}

bool privacy_off(const struct session *s, const struct server *server) {
    const struct privacy *pii = s->core->privacy;
    return mode_of(pii, server) == FILTER_OFF && !pii->rules->mode_count && !privacy_judged(s, server);
}

void privacy_modes(const struct session *s, const struct server *server, struct slice tool,
                   struct filter_options *ret_options) {
    const struct privacy *pii = s->core->privacy;
    *ret_options = (struct filter_options){
        .depth = PII_DEPTH_MAX, .preserve = pii->rules->preserve, .origin = privacy_origin(server)};
    ret_options->known = server->up.builtin != NULL; /* values that code has seen were scanned before */
    filter_options_set(ret_options, mode_of(pii, server));
    for (size_t i = 0; i < pii->rules->mode_count; i++) {
        const struct pii_mode_rule *r = &pii->rules->modes[i];
        if (!place_fits(&r->place, s, server, tool))
            continue;
        for (size_t k = 0; k <= FILTER_MODE_CUSTOM; k++)
            if (r->kinds >> k & 1)
                ret_options->modes[k] = r->mode;
    }
    const uint64_t judged = privacy_judged(s, server);
    ret_options->remember = judged != 0;
    for (size_t k = 0; judged && k <= FILTER_MODE_CUSTOM; k++)
        if (judged >> k & 1 && ret_options->modes[k] == FILTER_OFF)
            ret_options->modes[k] = FILTER_REPORT;
}

bool privacy_is_restore(const struct server *server, struct slice tool) {
    return server->up.builtin && slice_is(tool, "restore_pii");
}

uint64_t privacy_shown(const struct session *s, const struct server *server, struct slice tool) {
    const struct pii_rules *rules = s->core->privacy->rules;
    uint64_t shown = 0;
    for (size_t i = 0; i < rules->mode_count; i++) {
        const struct pii_mode_rule *r = &rules->modes[i];
        if (!place_fits(&r->place, s, server, tool))
            continue;
        if (r->mode == FILTER_OFF || r->mode == FILTER_REPORT)
            shown |= r->kinds;
        else
            shown &= ~r->kinds;
    }
    return shown;
}

struct filter_rules privacy_restore_rules(const struct session *s, const struct server *server,
                                          struct slice tool, struct arena *a) {
    const struct pii_rules *rules = s->core->privacy->rules;
    struct filter_rules out = {.server = privacy_origin(server),
                               .kinds = rules->restore_count ? PII_BIT(PII_SECRET) : PII_ALL};
    size_t most = 0;
    for (size_t i = 0; i < rules->restore_count; i++)
        most += rules->restores[i].from_count;
    struct slice *from = arena_array(a, struct slice, most);
    for (size_t i = 0; i < rules->restore_count; i++) {
        const struct pii_restore_rule *r = &rules->restores[i];
        if (!place_fits(&r->place, s, server, tool))
            continue;
        out.kinds |= r->kinds;
        for (size_t k = 0; k < r->from_count; k++)
            from[out.secrets_from_count++] = r->from[k];
    }
    out.secrets_from = from;
    if (privacy_is_restore(server, tool)) {
        out.kinds &= privacy_shown(s, server, tool);
        out.keep_literals = true;
    }
    return out;
}

void privacy_forget(struct session *s) { vault_free(s->vault); }
