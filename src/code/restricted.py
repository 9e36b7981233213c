

# The builtins of Code Execution MCP, for users who rely on what is missing there: no exec, eval, compile, open, input, and
# imports of harmless modules only. Its documentation runs skills by `exec`, so a function of that name runs those and nothing
# else. The sandbox does not rely on any of it.
def _sallyport_restrict(names):
    import builtins

    allowed = {"json", "math", "re", "datetime", "statistics", "collections", "itertools", "functools", "random", "string",
               "decimal", "fractions", "time", "typing", "dataclasses", "enum", "operator", "copy", "textwrap", "uuid",
               "hashlib", "base64", "csv", "io", "bisect", "heapq", "calendar", "abc", "numbers", "skills", "__future__"}
    real_import, real_exec, compile = builtins.__import__, builtins.exec, builtins.compile
    ImportFailed, own_name = builtins.ImportError, names.get("__name__")

    def guarded_import(name, globals=None, locals=None, fromlist=(), level=0):
        # What a module imports for itself is its own affair.
        if globals is not None and globals.get("__name__") != own_name:
            return real_import(name, globals, locals, fromlist, level)
        if name.partition(".")[0] not in allowed and not known_skill(name):
            raise ImportFailed(f"import of module '{name}' is not allowed")
        return real_import(name, globals, locals, fromlist, level)

    load_skill, loaded = names["load_skill"], set()

    def load_to_run(name):
        code = load_skill(name)
        loaded.add(code)
        return code

    load_to_run.__name__, load_to_run.__doc__ = "load_skill", load_skill.__doc__
    names["load_skill"] = load_to_run

    def exec_skill(code, globals=None, locals=None):
        """Runs the code of a skill, as load_skill gave it."""
        if code not in loaded:
            raise NameError("name 'exec' is not defined for other code than that of load_skill")
        space = names if globals is None else globals
        space.setdefault("__builtins__", safe)
        real_exec(compile(code, "<skill>", "exec"), space, locals)

    exec_skill.__name__, names["exec"] = "exec", exec_skill

    def known_skill(name):
        try:
            return name.isidentifier() and load_skill(name) is not None
        except Exception:
            return False

    re = names["re"]
    imports = re.compile(r"(?:^|;)[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import\b|import[ \t]+([^\n;#]+))|__import__\(\s*['\"]([\w.]+)", re.M)
    blocked = frozenset("os subprocess socket sys urllib requests http ftplib smtplib telnetlib ssl builtins globals locals vars dir "
                        "ctypes multiprocessing threading shelve marshal importlib __import__ __builtins__".split())
    attributes = re.compile(r"\b__(?:class|bases|subclasses|globals|mro|code)__\b")

    def check_for_dangerous_code(code):
        """Warnings of a look at the text alone. Nothing relies on it: the sandbox holds whatever the code says."""
        modules = [name.strip().split(" ")[0] for found in imports.finditer(code) for part in found.groups() if part
                   for name in part.split(",")]
        return ([f"Blocked import: {name}" for name in modules if name.partition(".")[0] in blocked] +
                [f"Dangerous attribute: {found.group()}" for found in attributes.finditer(code)])

    names["BLOCKED_IMPORTS"], names["check_for_dangerous_code"] = blocked, check_for_dangerous_code

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
