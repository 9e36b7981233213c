"""driver.py TARGET MODE: the steps of the interop matrix over the Python SDK's client, a JSON line each.

TARGET is {"command": [...]} or {"url": ...} or {"sse": ...}; MODE is legacy or modern.
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client

TARGET, MODE = json.loads(sys.argv[1]), sys.argv[2]


def say(step, value):
    print(json.dumps({"step": step, **value}, sort_keys=True), flush=True)


def plain(value):
    return value.model_dump(mode="json", by_alias=True, exclude_none=True) if hasattr(value, "model_dump") else value


async def take(step, work):
    try:
        say(step, {"result": plain(await work)})
    except Exception as error:  # the transcript is what a caller sees
        known = getattr(error, "error", error)
        say(step, {"error": {"code": getattr(known, "code", None), "message": str(getattr(known, "message", known))}})


def target():
    if "url" in TARGET:
        return TARGET["url"]
    if "sse" in TARGET:
        return sse_client(TARGET["sse"])
    command, *args = TARGET["command"]
    return StdioServerParameters(command=command, args=args, env=TARGET.get("env"))


async def main():
    async with Client(target(), mode="legacy" if MODE == "legacy" else "2026-07-28") as client:
        tool, uri = TARGET.get("prefix", ""), TARGET.get("uri", "test://note")
        await take("tools/list", client.list_tools())
        await take("call", client.call_tool(f"{tool}echo", {"text": "grüße \U0001f600"}))
        await take("call that fails", client.call_tool(f"{tool}fail", {}))
        await take("call with wrong arguments", client.call_tool(f"{tool}echo", {"text": {"no": "text"}}))
        await take("call of no tool", client.call_tool(f"{tool}none", {}))
        await take("resources/list", client.list_resources())
        await take("read", client.read_resource(uri))
        await take("prompts/list", client.list_prompts())
        await take("prompt", client.get_prompt(f"{tool}greet", {"name": "Ada"}))
        await take("prompt that is none", client.get_prompt(f"{tool}none", {}))
        await take("call after that", client.call_tool(f"{tool}echo", {"text": "still here"}))


asyncio.run(main())
