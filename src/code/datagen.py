

# For the DataGen profile: every tool is a function mcp_Server_tool, and DatagenClient calls tools by that name.
def _sallyport_datagen(names):
    import builtins
    import sys
    import types

    call_tool = names["call_tool"]

    class Names(dict):
        def __missing__(self, name):
            if not name.startswith("mcp_"):
                raise KeyError(name)

            def tool(**args):
                return call_tool("", name, args)

            tool.__name__ = name
            return tool

    class DatagenClient:
        """Calls tools by their alias: DatagenClient().execute_tool("mcp_Server_tool", {...})."""

        def execute_tool(self, alias, params=None):
            return call_tool("", alias if alias.startswith("mcp_") else "mcp_" + alias, params or {})

    names["__builtins__"] = Names(vars(builtins))
    names["DatagenClient"] = DatagenClient
    sdk = sys.modules["datagen_sdk"] = types.ModuleType("datagen_sdk")  # as its scripts import it
    sdk.DatagenClient = DatagenClient


_sallyport_datagen(globals())
del _sallyport_datagen
