

# The builtins of Code Execution MCP, for those who rely on what is missing there: no exec, eval, compile, open, input, and
# imports of harmless modules only. The sandbox does not rely on it.
def _sallyport_restrict(names):
    import builtins

    allowed = {"json", "math", "re", "datetime", "statistics", "collections", "itertools", "functools", "random", "string",
               "decimal", "fractions", "time", "typing", "dataclasses", "enum", "operator", "copy", "textwrap", "uuid",
               "hashlib", "base64", "csv", "io", "bisect", "heapq", "calendar", "abc", "numbers", "skills", "__future__"}
    real_import, ImportFailed, own_name = builtins.__import__, builtins.ImportError, names.get("__name__")

    def guarded_import(name, globals=None, locals=None, fromlist=(), level=0):
        # What a module imports for itself is its own affair.
        if globals is not None and globals.get("__name__") != own_name:
            return real_import(name, globals, locals, fromlist, level)
        if name.partition(".")[0] not in allowed and not known_skill(name):
            raise ImportFailed(f"import of module '{name}' is not allowed")
        return real_import(name, globals, locals, fromlist, level)

    load_skill = names["load_skill"]

    def known_skill(name):
        try:
            return name.isidentifier() and load_skill(name) is not None
        except Exception:
            return False

    safe = {key: value for key, value in vars(builtins).items()
            if isinstance(value, type) and issubclass(value, BaseException)}
    for key in ("abs all any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate filter float "
                "format frozenset getattr hasattr hash hex id int isinstance issubclass iter len list map max min next object "
                "oct ord pow print property range repr reversed round set setattr slice sorted staticmethod str sum super "
                "tuple type zip True False None Ellipsis NotImplemented __build_class__ __name__").split():
        if hasattr(builtins, key):
            safe[key] = getattr(builtins, key)
    safe["__import__"] = guarded_import
    names["__builtins__"] = safe


_sallyport_restrict(globals())
del _sallyport_restrict
