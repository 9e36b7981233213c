"""Tools of the official Python SDK that answer with what they received, after pydantic has coerced it.

Usage: typed.py TOOLS.json, where TOOLS.json is [{"name", "params": {NAME: KIND}, "aliases": {NAME: [ALIAS, "name"|"member"|"element"]},
"defaults": {NAME: VALUE}}].
"""
import json
import sys
from typing import Annotated

from mcp.server.fastmcp import FastMCP
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field


class Nested(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    amount: int = Field(validation_alias=AliasChoices("amount", "amt", AliasPath("deep", "amount")))
    text: str | None = Field(None, alias="label")


KINDS = {
    "integer": int, "number": float, "string": str, "boolean": bool,
    "integers": list[int], "strings": list[str], "map": dict[str, int],
    "nested": Nested, "either": str | list[str],
}


def typed(name, kind, alias):
    if not alias:
        return KINDS[kind]
    path = {"name": alias[0], "member": AliasPath(alias[0], "value"), "element": AliasPath(alias[0], 0)}[alias[1]]
    return Annotated[KINDS[kind], Field(validation_alias=AliasChoices(name, path))]


def plain(value):
    return value.model_dump(exclude_none=True, by_alias=True) if hasattr(value, "model_dump") else value


def tool(name, params, aliases, defaults):
    """A function with one typed parameter each, as a person would have written it."""
    types = {param: typed(param, kind, aliases.get(param)) for param, kind in params.items()}
    words = ", ".join(f"{param}: types[{param!r}] = defaults[{param!r}]" for param in params)
    values = {param: KINDS[kind](**defaults[param]) if kind == "nested" and param in defaults else defaults.get(param) for param, kind in params.items()}
    scope = {"types": types, "defaults": values}
    exec(f"def {name}({words}):\n    return answer(locals())", {**scope, "answer": answer}, scope)
    return scope[name]


def answer(received):
    return json.dumps({key: plain(value) for key, value in received.items() if value is not None})


server = FastMCP("typed")
for row in json.load(open(sys.argv[1])):
    server.add_tool(tool(row["name"], row["params"], row["aliases"], row["defaults"]), name=row["name"])
server.run()
