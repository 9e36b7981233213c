/* Load generator for MCP servers and for what stands in front of them.
 *
 *   load http     --url URL -c 16 --bytes 200 --seconds 3 [--era E] [--sessions N] [--pid PID]...
 *   load stdio    -n 16 --bytes 200 --seconds 3 -- CMD ARG...
 *   load sessions --url URL -n 1000 [--pid PID]...      holds them until stdin ends
 *   load first    [--url URL] [--runs N] -- CMD ARG...  exec to the first answered initialize
 *
 * Closed loop: each connection (HTTP) or slot (stdio) has one call in flight and sends the next when
 * the answer is in and was checked. One line of JSON on stdout; nothing is allocated per call. */
#include "load.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define URL_HOST_MAX 64

static const char USAGE[] =
    "usage: load http|stdio|sessions|first [option]... [-- CMD ARG...]\n"
    "  --url http://A.B.C.D:PORT/PATH   where to call (http, sessions; first: a server with a URL)\n"
    "  -c, -n N          connections, calls in flight, or sessions (1)\n"
    "  --bytes N         size of the text argument on the wire (200)\n"
    "  --seconds N       how long to measure (3)   --ms N   the same in milliseconds\n"
    "  --warm-ms N       how long to warm up first (200)\n"
    "  --era E           legacy (initialize, session), modern (2026-07-28), none (legacy calls, no session)\n"
    "  --sessions N      legacy sessions that the connections share (1)\n"
    "  --tool NAME       tool to call (echo)\n"
    "  --expect WHAT     result (the text comes back) or denied (a policy's refusal)\n"
    "  --header LINE     a further HTTP header; may be repeated\n"
    "  --pid PID         process under test, with its descendants; may be repeated\n"
    "  --except NAME     descendants of this name are not under test (echo)\n"
    "  --cpu N           pin the spawned command\n"
    "  --runs N          first: how often (20)\n";

static void usage_exit(void) {
    fputs(USAGE, stderr);
    exit(2);
}

static void take_url(struct options *options, const char *url) {
    static char host[URL_HOST_MAX];
    if (strncmp(url, "http://", 7) != 0)
        die("--url: want http://A.B.C.D:PORT/PATH, got `%s`", url);
    const char *start = url + 7;
    const char *colon = strchr(start, ':');
    const char *slash = strchr(start, '/');
    if (!colon || !slash || slash < colon)
        die("--url: want http://A.B.C.D:PORT/PATH, got `%s`", url);
    put_text(host, sizeof host, 0, "%.*s", (int)(colon - start), start);
    char port[8];
    put_text(port, sizeof port, 0, "%.*s", (int)(slash - colon - 1), colon + 1);
    options->host = host;
    options->port = (uint16_t)parse_number("--url", port, 1, 65535);
    options->path = slash;
}

static enum era parse_era(const char *text) {
    static const char *const NAMES[] = {"legacy", "modern", "none"};
    for (int i = 0; i < 3; i++)
        if (strcmp(text, NAMES[i]) == 0)
            return (enum era)i;
    die("--era: want legacy, modern or none, got `%s`", text);
}

/* True when the option was one of the numbers. */
static bool take_number(struct options *o, const char *name, const char *value) {
    if (strcmp(name, "-c") == 0 || strcmp(name, "-n") == 0)
        o->slots = (unsigned)parse_number(name, value, 0, LOAD_SESSIONS_MAX);
    else if (strcmp(name, "--bytes") == 0)
        o->bytes = parse_number(name, value, 0, LOAD_BYTES_MAX);
    else if (strcmp(name, "--seconds") == 0)
        o->run_ns = parse_number(name, value, 1, 3600) * NS_PER_S;
    else if (strcmp(name, "--ms") == 0)
        o->run_ns = parse_number(name, value, 1, 3600000) * NS_PER_MS;
    else if (strcmp(name, "--warm-ms") == 0)
        o->warm_ns = parse_number(name, value, 0, 60000) * NS_PER_MS;
    else if (strcmp(name, "--sessions") == 0)
        o->sessions = (unsigned)parse_number(name, value, 1, LOAD_SESSIONS_MAX);
    else if (strcmp(name, "--pid") == 0)
        proc_set_add(&o->set, (pid_t)parse_number(name, value, 1, INT32_MAX));
    else if (strcmp(name, "--cpu") == 0)
        o->cpu = (int)parse_number(name, value, 0, 1023);
    else if (strcmp(name, "--runs") == 0)
        o->runs = (unsigned)parse_number(name, value, 1, 1000);
    else
        return false;
    return true;
}

static bool take_text(struct options *o, const char *name, const char *value) {
    if (strcmp(name, "--url") == 0)
        take_url(o, value);
    else if (strcmp(name, "--era") == 0)
        o->era = parse_era(value);
    else if (strcmp(name, "--tool") == 0)
        o->tool = value;
    else if (strcmp(name, "--expect") == 0)
        o->expect_denied = strcmp(value, "denied") == 0;
    else if (strcmp(name, "--except") == 0)
        o->except = value;
    else if (strcmp(name, "--header") == 0)
        o->headers_len = put_text(o->headers, sizeof o->headers, o->headers_len, "%s\r\n", value);
    else
        return false;
    return true;
}

static void parse_options(struct options *options, int argc, char **argv) {
    if (argc < 2)
        usage_exit();
    options->mode = argv[1];
    int at = 2;
    for (; at + 1 < argc && strcmp(argv[at], "--") != 0; at += 2)
        if (!take_number(options, argv[at], argv[at + 1]) && !take_text(options, argv[at], argv[at + 1]))
            usage_exit();
    if (at + 1 < argc)
        options->command = argv + at + 1;
    else if (at < argc)
        usage_exit();
}

static double us(uint64_t ns) { return (double)ns / (double)NS_PER_US; }

static void print_report(const struct options *options, const struct run *run) {
    const struct stats *s = &run->stats;
    double seconds = (double)(s->to_ns - s->from_ns) / (double)NS_PER_S;
    double calls = (double)s->calls;
    printf("{\"mode\":\"%s\",\"in_flight\":%u,\"bytes\":%zu,\"seconds\":%.3f,\"calls\":%llu,\"errors\":%llu,"
           "\"reconnects\":%llu,\"rps\":%.1f",
           options->mode, options->slots, options->bytes, seconds, (unsigned long long)s->calls,
           (unsigned long long)s->errors, (unsigned long long)s->reconnects, (double)s->calls / seconds);
    printf(",\"p50_us\":%.1f,\"p90_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f,\"max_us\":%.1f",
           us(hist_quantile_ns(&s->hist, 0.5)), us(hist_quantile_ns(&s->hist, 0.9)),
           us(hist_quantile_ns(&s->hist, 0.99)), us(hist_quantile_ns(&s->hist, 0.999)), us(s->hist.max_ns));
    if (run->set.count && s->calls)
        printf(",\"cpu_us_per_call\":%.2f,\"user_us_per_call\":%.2f,\"rss_kb\":%llu,\"processes\":%d",
               us(s->after.cpu_ns - s->before.cpu_ns) / calls,
               (double)(s->after.user_us - s->before.user_us) / calls,
               (unsigned long long)s->after.rss_peak_kb, run->set.count);
    else
        printf(",\"cpu_us_per_call\":null,\"user_us_per_call\":null,\"rss_kb\":null,\"processes\":0");
    if (s->first_error)
        printf(",\"first_error\":\"%s\"", s->first_error);
    printf("}\n");
}

int main(int argc, char **argv) {
    static struct options options = {.slots = 1,
                                     .bytes = 200,
                                     .run_ns = 3 * NS_PER_S,
                                     .warm_ns = 200 * NS_PER_MS,
                                     .sessions = 1,
                                     .runs = 20,
                                     .cpu = -1,
                                     .tool = "echo",
                                     .except = "echo"};
    static struct run run;
    parse_options(&options, argc, argv);
    signal(SIGPIPE, SIG_IGN);
    raise_fd_limit();
    bool http = strcmp(options.mode, "http") == 0;
    bool stdio = strcmp(options.mode, "stdio") == 0;
    if (strcmp(options.mode, "sessions") == 0 && (options.host || !options.slots)) {
        load_sessions(&options);
        return 0;
    }
    if (strcmp(options.mode, "first") == 0 && options.command) {
        load_first(&options);
        return 0;
    }
    if (!(http && options.host) && !(stdio && options.command))
        usage_exit();
    if (options.slots < 1 || options.slots > LOAD_SLOTS_MAX)
        die("-c, -n: want 1 to %d", LOAD_SLOTS_MAX);
    run_init(&run, &options);
    if (http)
        load_http(&options, &run);
    else
        load_stdio(&options, &run);
    print_report(&options, &run);
    return 0;
}
