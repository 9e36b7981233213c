#include "state/advice.h"

#include "base/mem.h"
#include "base/slice.h"

#include <string.h>

#define ENCODE STATE_ENCODE_ADVICE

/* Redis begins its errors with a word; the rest are texts of the libraries. The first that is found counts.
 */
static const struct {
    const char *text, *fix;
} rows[] = {
    {"NOAUTH",
     "put the password into the DSN: redis://:PASSWORD@HOST, or redis://USER:PASSWORD@HOST; for Sentinels "
     "?sentinel_password=PASSWORD"},
    {"WRONGPASS", "correct the user or the password in the DSN; " ENCODE},
    {"NOPERM", "give the user the keys and commands that docs/fleet.md lists, with ACL SETUSER"},
    {"READONLY", "name the master in the DSN, or the Sentinels: redis+sentinel://HOST,HOST/MASTER"},
    {"is a replica", "name the master in the DSN, or the Sentinels: redis+sentinel://HOST,HOST/MASTER"},
    {"DB index", "use a lower number, or raise `databases` in redis.conf; a Cluster has only database 0"},
    {"not a Redis server", "another program answers there: correct the host or the port"},
    {"self-signed certificate", "name the authority of the server: ?sslrootcert=FILE"},
    {"unable to get local issuer", "name the authority of the server: ?sslrootcert=FILE"},
    {"mismatch", "write the name or address that the server's certificate has"},
    {"certificate required", "the server wants a certificate of the gate: ?sslcert=FILE&sslkey=FILE"},
    {"no answer within",
     "is it the right port, and does the server speak TLS? rediss:// is with TLS, redis:// without. "
     "A slow server needs a larger state.timeout"},
    {"connection reset", "if the server speaks TLS, write rediss://"},
    {"the server closed the connection", "if the server speaks TLS, write rediss://"},
    {"password authentication failed", "correct the user or the password in the DSN; " ENCODE},
    {"no password supplied", "put the password into the DSN, or into a file that ?passfile= names"},
    {"no pg_hba.conf entry",
     "let the server's pg_hba.conf accept this user and address, with TLS or without"},
    {"root certificate file", "name the authority of the server: ?sslrootcert=FILE, or `system`"},
    {"certificate verify failed", "name the authority of the server: ?sslrootcert=FILE"},
    {"does not support SSL", "set up TLS at the server, or write ?sslmode=disable where the network is safe"},
    {"invalid response to SSL", "another program answers there: correct the host or the port"},
    {"session is read-only", "name the server that takes writes; several hosts may stand in the DSN"},
    {"database system is in recovery",
     "name the server that takes writes; several hosts may stand in the DSN"},
    {"does not exist", "create it (createdb, createuser), or correct the DSN"},
    {"too many clients", "raise max_connections: a worker has up to eight, a gate one more"},
    {"too many connections",
     "raise the limit of the role or database: a worker has up to eight, a gate one more"},
    {"107 bytes", "use a shorter path"},
    {"refused", "start the server, or correct the host and the port"},
    {"unix socket", "start the server, or correct the path"},
    {"No such file or directory", "start the server, or correct the path"},
    {"unknown node or service", "correct the name of the host"},
    {"could not translate host name", "correct the name of the host"},
    {"imeout expired", "is the host right, and does a firewall let the gate through?"},
    {"no connection in time", "is the host right, and does a firewall let the gate through?"},
    {"unreachable", "is the host right, and does a firewall let the gate through?"},
};

const char *state_advice(const char *fault) {
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strstr(fault, rows[i].text))
            return rows[i].fix;
    return NULL;
}

bool state_advice_is_postgres(const char *dsn) {
    const struct slice text = slice_str(dsn);
    return slice_starts(text, SLICE("postgres://")) || slice_starts(text, SLICE("postgresql://"));
}

static bool is_hex(char c) { return c && strchr("0123456789abcdefABCDEF", c); }

int state_advice_check(const char *dsn, struct err *err) {
    const char *at = strstr(dsn, "://");
    unsigned found = 0;
    bool at_host = true;
    for (at = at ? at + 3 : dsn; *at; at++) {
        const char c = *at;
        if ((c == '@' && (!at_host || found++)) || (c == '%' && !(is_hex(at[1]) && is_hex(at[2]))))
            return err_set(err, "PostgreSQL: the DSN is not clear: %s; an @ elsewhere, too", ENCODE);
        at_host = at_host && c != '/' && c != '?' && c != '#';
    }
    return 0;
}
