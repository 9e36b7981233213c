#!/usr/bin/env python3
"""A small MCP server on stdio to stand behind the gate: a few notes in memory and a payment that moves no money.

Speaks both eras of the protocol with nothing but the standard library: the handshake of 2025-11-25 and before,
and the self-describing requests of 2026-07-28.
"""
import json
import sys

MODERN = "2026-07-28"
LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
INFO = {"name": "demo-notes", "version": "1.0.0"}
META = "io.modelcontextprotocol/"

notes = {
    "groceries": "Bread, butter, a dozen eggs.",
    "standup": "Yesterday: the gate. Today: the gate. Blockers: the gate.",
    "landlord": "Rent is due on the first. 950 to account 4711.",
}


class ToolError(Exception):
    """The call was understood and went wrong: a result with isError, not a protocol error."""


def text_schema(**properties):
    return {"type": "object", "required": list(properties), "additionalProperties": False,
            "properties": {name: {"type": kind} for name, kind in properties.items()}}


def list_notes():
    return "\n".join(sorted(notes)) or "(no notes)"


def read_note(name):
    if name not in notes:
        raise ToolError(f"no note named {name!r}")
    return notes[name]


def write_note(name, text):
    notes[name] = text
    return f"wrote {len(text)} characters to {name!r}"


def delete_note(name):
    read_note(name)
    del notes[name]
    return f"deleted {name!r}"


def send_payment(to, amount):
    return f"pretended to send {amount} to {to!r}; no money moved"


def wipe_all_notes():
    count = len(notes)
    notes.clear()
    return f"deleted {count} notes"


# name: (function, description, schema, hints)
TOOLS = {
    "list_notes": (list_notes, "List the names of all notes.", text_schema(), {"readOnlyHint": True}),
    "read_note": (read_note, "Read one note.", text_schema(name="string"), {"readOnlyHint": True}),
    "write_note": (write_note, "Create or replace a note.", text_schema(name="string", text="string"),
                   {"destructiveHint": False}),
    "delete_note": (delete_note, "Delete a note for good.", text_schema(name="string"), {"destructiveHint": True}),
    "send_payment": (send_payment, "Send money (a pretence).", text_schema(to="string", amount="number"),
                     {"openWorldHint": True}),
    "wipe_all_notes": (wipe_all_notes, "Delete every note at once.", text_schema(), {"destructiveHint": True}),
}


class RpcError(Exception):
    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.body = {"code": code, "message": message, **({"data": data} if data else {})}


def list_tools():
    return {"tools": [{"name": name, "description": description, "inputSchema": schema, "annotations": hints}
                      for name, (_, description, schema, hints) in TOOLS.items()]}


def call_tool(params):
    arguments = params.get("arguments") or {}
    if params.get("name") not in TOOLS:
        raise RpcError(-32602, f"Unknown tool: {params.get('name')}")
    function, _, schema, _ = TOOLS[params["name"]]
    try:
        if not isinstance(arguments, dict) or set(arguments) != set(schema["required"]):
            raise ToolError("arguments must be exactly: " + (", ".join(schema["required"]) or "none"))
        text, failed = function(**arguments), False
    except ToolError as error:
        text, failed = str(error), True
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def initialize(params):
    asked = params.get("protocolVersion")
    return {"protocolVersion": asked if asked in LEGACY else LEGACY[0], "capabilities": {"tools": {}},
            "serverInfo": INFO}


def discover(_params):
    return {"supportedVersions": [MODERN], "capabilities": {"tools": {}}}


HANDSHAKE_METHODS = {"initialize": initialize, "ping": lambda _: {}, "tools/list": lambda _: list_tools(),
                     "tools/call": call_tool}
MODERN_METHODS = {"server/discover": discover, "tools/list": lambda _: list_tools(), "tools/call": call_tool}
CACHED = ("server/discover", "tools/list")


def answer(method, params):
    """A request that names its protocol version in _meta is of the modern era; every other is of the old one."""
    version = params.get("_meta", {}).get(META + "protocolVersion")
    table = HANDSHAKE_METHODS if version is None else MODERN_METHODS
    if version not in (None, MODERN):
        raise RpcError(-32022, "Unsupported protocol version", {"supported": [MODERN], "requested": version})
    if method not in table:
        raise RpcError(-32601, f"Method not found: {method}")
    result = table[method](params)
    if version == MODERN:
        result |= {"resultType": "complete", "_meta": {META + "serverInfo": INFO}}
        if method in CACHED:
            result |= {"ttlMs": 0, "cacheScope": "private"}
    return result


def handle(line):
    try:
        message = json.loads(line)
    except ValueError:
        return {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}}
    if not isinstance(message, dict) or "method" not in message or "id" not in message:
        return None  # a notification, or a response that nobody asked for
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        reply["result"] = answer(message["method"], message.get("params") or {})
    except RpcError as error:
        reply["error"] = error.body
    return reply


def main():
    for line in sys.stdin:
        reply = handle(line)
        if reply is not None:
            print(json.dumps(reply, separators=(",", ":")), flush=True)


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, BrokenPipeError):
        pass
