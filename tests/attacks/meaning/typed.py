"""Tools of the official Python SDK that answer with what they received, after pydantic has coerced it.

Usage: typed.py TOOLS.json, where TOOLS.json is [{"name", "params": {NAME: KIND}}].
"""
import json
import sys

from mcp.server.fastmcp import FastMCP
from pydantic import create_model

KINDS = {
    "integer": int, "number": float, "string": str, "boolean": bool,
    "integers": list[int], "strings": list[str], "map": dict[str, int],
    "nested": create_model("Nested", amount=(int, ...), label=(str | None, None)),
}


def plain(value):
    return value.model_dump(exclude_none=True) if hasattr(value, "model_dump") else value


def tool(name, params):
    """A function with one typed parameter each, as a person would have written it."""
    words = ", ".join(f"{param}: KINDS[{kind!r}] = None" for param, kind in params.items())
    scope = {"KINDS": KINDS}
    exec(f"def {name}({words}):\n    return answer(locals())", {**scope, "answer": answer}, scope)
    return scope[name]


def answer(received):
    return json.dumps({key: plain(value) for key, value in received.items() if value is not None})


server = FastMCP("typed")
for row in json.load(open(sys.argv[1])):
    server.add_tool(tool(row["name"], row["params"]), name=row["name"])
server.run()
