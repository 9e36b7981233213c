

# For the interpreter profile: code is run as at a prompt. The value of its last expression is echoed, and what is known of
# the session afterwards comes back with the outcome.
def _sallyport_repl(names):
    import ast
    import linecache
    import sys
    import traceback

    # A session runs this again: what the agent has defined since is the agent's.
    given = names.setdefault("_sallyport_given", frozenset(names) | {"result", "_sallyport_run", "_sallyport_args", "_sallyport_given", "_"})

    def repl(code, filename, argv):
        outcome = {"error": None}
        if not filename.startswith("/"):  # a file is run as it is
            code = names["__clean__"](code)
        linecache.cache[filename] = (len(code), None, (code + "\n").splitlines(True), filename)
        try:
            tree = ast.parse(code, filename)
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            if argv is not None:
                sys.argv = argv
                names["__name__"], names["__file__"] = "__main__", filename
            exec(compile(tree, filename, "exec"), names)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), filename, "eval"), names)
                if value is not None and argv is None:
                    names["_"] = value
                    print(repr(value))
        except SystemExit as left:
            outcome["exit"] = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
            if outcome["exit"]:
                outcome["error"] = f"SystemExit: {left.code}\n"
        except BaseException as error:
            kind, value, trace = type(error), error, error.__traceback__
            while trace is not None and trace.tb_frame.f_code.co_filename != filename:
                trace = trace.tb_next
            outcome["error"] = "".join(traceback.format_exception(kind, value, trace))
            outcome["exit"] = 1
        outcome["variables"] = sum(1 for name in names if name not in given and not name.startswith("__"))
        return outcome

    names["_sallyport_run"] = repl


_sallyport_repl(globals())
