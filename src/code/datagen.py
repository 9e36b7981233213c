

# For the DataGen profile: every tool is a function mcp_Server_tool, and DatagenClient calls tools by that name. The packages of
# additional_imports are looked for before the script runs; the variables of output_vars become the result.
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

    def begin(space):
        from importlib import metadata, util

        def missing(package):
            try:
                return not util.find_spec(package.replace("-", "_")) and not metadata.version(package)
            except (ImportError, ValueError):
                return True

        absent = [package for package in space.pop("__imports__", ()) if missing(package)]
        if absent:
            raise ModuleNotFoundError("additional_imports: not installed here: " + ", ".join(absent))

    types_of = {"int": int, "integer": int, "float": (int, float), "number": (int, float), "str": str, "string": str,
                "bool": bool, "boolean": bool, "list": (list, tuple), "array": (list, tuple), "dict": dict, "object": dict}

    def fits(value, wanted):
        wanted = types_of.get(wanted.lower()) if isinstance(wanted, str) else None
        return wanted is None or isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))

    def end(space):
        wanted = space.pop("__outputs__", None)
        if wanted is None:
            return space.get("result")
        there = {name: space[name] for name in wanted if name in space}
        return {"__outputs__": there, "missing_outputs": [name for name in wanted if name not in space],
                "mistyped_outputs": [name for name in there if not fits(there[name], wanted[name])]}

    names["__begin__"], names["__end__"] = begin, end
    names["__builtins__"] = Names(vars(builtins))
    names["DatagenClient"] = DatagenClient
    sdk = sys.modules["datagen_sdk"] = types.ModuleType("datagen_sdk")  # as its scripts import it
    sdk.DatagenClient = DatagenClient


_sallyport_datagen(globals())
del _sallyport_datagen
