/* Ceilings of the egress room; docs/limits.md lists them. */
#pragma once

#define EGRESS_RULES_MAX 256         /* entries of an allow-list */
#define EGRESS_INJECT_MAX 64         /* headers that are added, over all hosts */
#define EGRESS_OPEN_MAX 1024         /* concurrent connections, of all ports of a gate */
#define EGRESS_PORT_OPEN_MAX 64      /* of one port: of one run of code */
#define EGRESS_PORT_LINKS_MAX 1000   /* connections that one port makes in total */
#define EGRESS_HEAD_MS 15000         /* for a request's head to arrive */
#define EGRESS_DIAL_MS 15000         /* for a name to be resolved, and for a connection */
#define EGRESS_ADDRESSES_MAX 4       /* of one name that are tried */
#define EGRESS_REASON_MAX 300        /* bytes of a refusal */
#define EGRESS_BUNDLE_MAX (1u << 20) /* certificates that the system trusts */
#define EGRESS_PEM_MAX 8192          /* one certificate or key */
#define EGRESS_CERT_DAYS 800         /* validity of a certificate that the gate makes for a sandbox */
