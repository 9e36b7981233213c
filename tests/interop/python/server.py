"""The fixture of the interop matrix over the Python SDK, on stdio. typescript/server.mjs says the same."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("interop", version="1.0.0", instructions="A fixture.")


@server.tool(description="Says it again")
def echo(text: str) -> str:
    return text


@server.tool(description="Always fails")
def fail() -> str:
    raise ValueError("on purpose")


@server.resource("test://note", name="note", mime_type="text/plain")
def note() -> str:
    return "a note"


@server.prompt(name="greet", description="A greeting")
def greet(name: str) -> str:
    return f"Hello, {name}!"


server.run("stdio")
