// use(t, thing): the thing, ended when the test ends, last one first.
export function use(t, thing) {
  const stack = stacks.get(t) ?? [];
  if (stack.length === 0) {
    stacks.set(t, stack);
    t.after(async () => {
      let failure;
      while (stack.length > 0) {
        const next = stack.pop();
        try { await (next.stop ? next.stop() : next.close()); } catch (error) { failure ??= error; }
      }
      if (failure) throw failure;
    });
  }
  stack.push(thing);
  return thing;
}

const stacks = new WeakMap();
