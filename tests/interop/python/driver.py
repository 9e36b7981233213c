"""driver.py TARGET MODE: the steps of the interop matrix over the Python SDK's client, a JSON line each.

TARGET is {"command": [...]} or {"url": ...} or {"sse": ...}; MODE is legacy or modern. With "steps": "exchange" it expects the server
of the conformance suite, and "seen" lists what came before each answer: progress, log messages, questions.
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.types import CreateMessageResult, ElicitResult, TextContent

TARGET, MODE = json.loads(sys.argv[1]), sys.argv[2]
LOG_LINES = 3  # of the suite's logging tool
seen = []


def say(step, value):
    print(json.dumps({"step": step, **value}, sort_keys=True), flush=True)


def plain(value):
    return value.model_dump(mode="json", by_alias=True, exclude_none=True) if hasattr(value, "model_dump") else value


async def take(step, work, events=0):
    seen.clear()
    try:
        said = {"result": plain(await work)}
    except Exception as error:  # the transcript is what a caller sees
        known = getattr(error, "error", error)
        said = {"error": {"code": getattr(known, "code", None), "message": str(getattr(known, "message", known))}}
    for _ in range(1000):  # the SDK may deliver a notification after the answer that it came before
        if len(seen) >= events:
            break
        await asyncio.sleep(0.01)
    say(step, {**said, **({"seen": list(seen)} if seen else {})})


def target():
    if "url" in TARGET:
        return TARGET["url"]
    if "sse" in TARGET:
        return sse_client(TARGET["sse"])
    command, *args = TARGET["command"]
    return StdioServerParameters(command=command, args=args, env=TARGET.get("env"))


async def on_progress(progress, total, message):
    seen.append({"progress": progress, "total": total, "message": message})


async def on_log(params):
    seen.append({"level": params.level, "data": params.data})


async def on_sampling(_, params):
    content = params.messages[0].content
    seen.append({"sampling": content.text})
    return CreateMessageResult(role="assistant", content=TextContent(type="text", text="sampled"), model="none")


async def on_elicitation(_, params):
    seen.append({"elicitation": params.message})
    if params.message == "decline":
        return ElicitResult(action="decline")
    return ElicitResult(action="accept", content={name: "yes" for name in params.requested_schema["properties"]})


async def exchange():
    callbacks = {"sampling_callback": on_sampling, "elicitation_callback": on_elicitation, "logging_callback": on_log, "log_level": "debug"}
    async with Client(target(), mode="legacy" if MODE == "legacy" else "2026-07-28", **callbacks) as client:
        tool, uris = TARGET.get("prefix", ""), TARGET.get("uris", "")
        await take("progress", client.call_tool(f"{tool}test_tool_with_progress", progress_callback=on_progress), 3)
        if MODE == "legacy":
            await client.set_logging_level("debug")
        await take("log", client.call_tool(f"{tool}test_tool_with_logging"), LOG_LINES)
        await take("sampling", client.call_tool(f"{tool}test_sampling", {"prompt": "say it"}))
        await take("question", client.call_tool(f"{tool}test_elicitation", {"message": "accept"}))
        await take("question that is declined", client.call_tool(f"{tool}test_elicitation", {"message": "decline"}))
        await take("input required", client.call_tool(f"{tool}test_input_required_result_elicitation"))
        await take("call that fails", client.call_tool(f"{tool}test_error_handling"))
        await take("read of nothing", client.read_resource(f"{uris}test://nothing"))
        await take("prompt with a resource", client.get_prompt(f"{tool}test_prompt_with_embedded_resource", {"resourceUri": "test://example"}))
        await take("call after that", client.call_tool(f"{tool}test_simple_text"))


async def basic():
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


asyncio.run(exchange() if TARGET.get("steps") == "exchange" else basic())
