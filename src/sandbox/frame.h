/* The protocol between the gate and the sandbox helper: the one header that both programs share.
 *
 *   gate ══ control (seqpacket, fds) ══▶ helper ══▶ zygote ──clone──▶ sandbox
 *     └───────────── bridge (stream socket pair, frames) ──────────────┘
 *
 * Control: fixed packets in both directions. The helper is trusted code that holds no secrets.
 * Bridge: one socket pair per sandbox, inherited as descriptor 0. The descriptor is the identity: there is no
 * token, no path, no port. Everything that arrives there was written by the guest and is read by one strict
 * parser with a ceiling on every size. */
#pragma once

#include <stdint.h>

#define FRAME_VERSION 1

/* ---- bridge ---- */

/* Little-endian header, then `length` bytes. */
struct frame_head {
    uint32_t length; /* bytes after the header */
    uint32_t id;     /* of a call, otherwise 0 */
    uint32_t kind;   /* enum frame_kind */
};

#define FRAME_HEAD_BYTES 12
#define FRAME_BYTES_MAX (16u << 20) /* gate to sandbox: code, context and the results of calls */
#define FRAME_GUEST_MAX (16u << 20) /* sandbox to gate: arguments and the result value */
#define FRAME_IMAGES_MAX 32         /* images and pages that one run may send */
#define FRAME_TEXT_MAX (256u << 10) /* error texts and tracebacks, progress texts */

enum frame_kind {
    /* gate to sandbox */
    FRAME_RUN = 1,    /* JSON object: code, context, limits; see docs/internals/sandbox.md */
    FRAME_RESULT = 2, /* id: the call's result, JSON */
    FRAME_ERROR = 3,  /* id: the call failed, JSON string or an object with a message */
    /* sandbox to gate */
    FRAME_CALL = 16,     /* id: {"server","tool","args"}; server "" is the built-in one */
    FRAME_PROGRESS = 17, /* {"fraction","text"} */
    FRAME_IMAGE = 18,    /* one byte length, MIME type, then the bytes: a picture, HTML or text */
    FRAME_DONE = 19,     /* {"ok","result","error","kind","traceback"}; the last frame of a run */
    FRAME_AWAKE = 20,    /* empty; JavaScript only, before its first run: see CONFINE_AWAKE */
};

/* ---- control ---- */

#define FRAME_PATH_MAX 1024
#define FRAME_NAME_MAX 48
#define FRAME_RUNTIMES 3
#define FRAME_PROXY_PORT 3128 /* on the loop-back interface of a sandbox with network */
#define FRAME_BUNDLE "/etc/ssl/certs/ca-certificates.crt" /* trusted certificates, at the usual path */
#define FRAME_PACKAGES "/opt/packages" /* layers of packages, path in the sandbox; tier 1 */
#define FRAME_REASON_MAX 256

enum frame_runtime { FRAME_PYTHON, FRAME_PYTHON_DATA, FRAME_NODE };
enum frame_profile { FRAME_PURE, FRAME_FILES, FRAME_PROC, FRAME_PROFILES };

/* Gate to helper. FRAME_START carries three descriptors: bridge, stdout and stderr ends of the sandbox. */
enum frame_order_kind {
    FRAME_SETUP = 1, /* once, first; with the preludes and the certificates, each a descriptor or absent */
    FRAME_START = 2,
    FRAME_LIMIT = 3, /* a sandbox of profile PROC: lowers the memory of its run to memory_mb */
};

struct frame_order {
    uint32_t kind;
    uint32_t runtime;
    uint64_t token; /* identifies the sandbox */
    uint32_t profile;
    uint32_t memory_mb;    /* maximum; a run may lower it, never raise it */
    uint32_t workspace_mb; /* size of the private /workspace and of /tmp */
    uint32_t inodes;
    uint32_t processes; /* threads, and with profile `proc` processes */
    uint32_t
        network;     /* its own loop-back interface, whose only listener goes to the gate; tier 1, not PURE */
    uint32_t urgent; /* needed soon: JavaScript reports that it runs before it has warmed up */
    uint32_t uid;    /* filled in by the helper: its own uid outside of its namespace; 0: the zygote's */
};

/* Helper to gate. FRAME_STARTED carries a pidfd, a descriptor of the sandbox's /workspace and, with a
 * network, the listener of its loop-back interface. */
enum frame_report_kind {
    FRAME_HELLO = 1,     /* once, first */
    FRAME_STARTED = 2,   /* value 0, or an errno and `text` if it could not be started */
    FRAME_EXITED = 3,    /* value: wait status */
    FRAME_VIOLATION = 4, /* text: name of the system call; value 1 if the sandbox was killed for it */
    FRAME_RUNTIME = 5,   /* a runtime is ready (value 0) or not (value: errno, text: reason) */
    FRAME_IDS = 7,       /* value: number of uids for sandboxes, or 0 and in text why all share one */
    FRAME_GROUP = 6, /* value: version of the control groups that limit all, or 0 and the reason in text */
};

struct frame_report {
    uint32_t kind;
    int32_t value;
    uint64_t token;
    uint32_t runtime;
    uint32_t tier;
    uint64_t cpu_us;
    uint64_t rss_kb;
    uint64_t out_of_memory; /* FRAME_EXITED: the kernel killed it, or a part of it, because memory ran out */
    char text[FRAME_REASON_MAX];
};
