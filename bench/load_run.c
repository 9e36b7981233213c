/* The phases of one measured run and what is counted in each.
 *
 *   warm ───────▶ measure ───────▶ drain ───────▶ done
 *   nothing       calls, errors,   answers of calls that were sent while measuring still
 *   counts        CPU, peak RSS    give their latency, so that slow ones are not left out */
#include "load.h"

void run_init(struct run *run, const struct options *options) {
    run->options = options;
    run->set = options->set;
    shape_init(&run->shape, options);
}

void run_begin(struct run *run) {
    if (run->set.count)
        proc_set_grow(&run->set, run->options->except);
    run->phase = PHASE_WARM;
    run->next_phase_ns = now_ns() + run->options->warm_ns;
}

static void begin_measure(struct run *run) {
    struct stats *stats = &run->stats;
    hist_reset(&stats->hist);
    stats->calls = stats->reconnects = 0; /* an error counts whenever it happens */
    proc_set_reset_peak(&run->set);
    proc_set_read(&run->set, &stats->before);
    stats->from_ns = now_ns();
    run->phase = PHASE_MEASURE;
    run->next_phase_ns = stats->from_ns + run->options->run_ns;
}

static void begin_drain(struct run *run) {
    struct stats *stats = &run->stats;
    stats->to_ns = now_ns();
    proc_set_read(&run->set, &stats->after);
    proc_set_read_memory(&run->set, &stats->after);
    run->phase = PHASE_DRAIN;
    run->next_phase_ns = stats->to_ns + LOAD_DRAIN_NS;
}

static void finish(struct run *run, uint64_t now) {
    if (run->in_flight && now < run->next_phase_ns)
        return;
    if (run->in_flight)
        run_error(run, "calls that were never answered");
    run->phase = PHASE_DONE;
}

void run_tick(struct run *run, uint64_t now) {
    bool broken = run->stats.errors > LOAD_ERRORS_MAX;
    if (run->phase == PHASE_DRAIN)
        finish(run, now);
    else if (run->phase == PHASE_WARM && (broken || now >= run->next_phase_ns))
        begin_measure(run);
    else if (run->phase == PHASE_MEASURE && (broken || now >= run->next_phase_ns))
        begin_drain(run);
}

/* Ids name their slot and come again only after LOAD_ID_SPAN calls. */
uint64_t run_next_id(struct run *run, unsigned slot) {
    uint64_t slots = run->options->slots;
    uint64_t turns = LOAD_ID_SPAN / slots;
    return LOAD_ID_FIRST + (run->sequence++ % turns) * slots + slot;
}

void run_record(struct run *run, uint64_t sent_ns, uint64_t now) {
    struct stats *stats = &run->stats;
    if (run->phase == PHASE_MEASURE)
        stats->calls++;
    if (run->phase != PHASE_WARM && sent_ns >= stats->from_ns)
        hist_add(&stats->hist, now - sent_ns);
}

void run_error(struct run *run, const char *what) {
    run->stats.errors++;
    if (!run->stats.first_error)
        run->stats.first_error = what;
}
