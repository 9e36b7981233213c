/* Versions of MCP and the names in `_meta` that its modern era defines. */
#pragma once

#define UP_MODERN_VERSION "2026-07-28"
#define UP_LEGACY_VERSION "2025-11-25" /* the newest legacy version */

/* The names in `_meta` of the modern era. */
#define UP_META_VERSION "io.modelcontextprotocol/protocolVersion"
#define UP_META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define UP_META_CLIENT "io.modelcontextprotocol/clientInfo"
#define UP_META_LOG "io.modelcontextprotocol/logLevel"
#define UP_META_SERVER "io.modelcontextprotocol/serverInfo"
#define UP_META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"
/* `_meta` of the gate's own requests. */
#define UP_META_OWN                                                                                          \
    "{\"" UP_META_VERSION "\":\"" UP_MODERN_VERSION "\",\"" UP_META_CLIENT                                   \
    "\":{\"name\":\"sallyport\",\"version\":\"" SALLYPORT_VERSION "\"},\"" UP_META_CAPABILITIES "\":{}}"
