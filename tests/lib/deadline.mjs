// Every wait in the tests has an end. The value is generous because a build with
// sanitizers on a busy machine is slow; it costs nothing when things work.
export const DEADLINE_MS = Number(process.env.TEST_DEADLINE_MS ?? 120_000);

const POLL_MS = 20; // so that the wait takes nothing from what is waited for

export class DeadlineError extends Error {}

export async function within(promise, what, ms = DEADLINE_MS) {
  let timer;
  const expiry = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new DeadlineError(`${typeof what === 'function' ? what() : what}: not within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, expiry]);
  } finally {
    clearTimeout(timer);
  }
}

// Asks again and again, for what nobody announces, until there is an answer that is not false: that answer.
export async function until(what, holds, ms = DEADLINE_MS) {
  for (const end = Date.now() + ms; ;) {
    const found = await holds();
    if (found) return found;
    if (Date.now() > end) throw new DeadlineError(`${typeof what === 'function' ? what() : what}: not within ${ms} ms`);
    await new Promise((resolve) => { setTimeout(resolve, POLL_MS); });
  }
}

// A queue whose reader waits for the next item that fits. Used for lines, messages, events.
export class Inbox {
  #items = [];
  #waiters = new Set();
  #ended = false;

  get waiting() { return [...this.#items]; }

  push(item) {
    for (const waiter of this.#waiters) {
      if (!waiter.fits(item)) continue;
      this.#waiters.delete(waiter);
      waiter.resolve(item);
      return;
    }
    this.#items.push(item);
  }

  end() {
    this.#ended = true;
    for (const waiter of this.#waiters) waiter.resolve(null);
    this.#waiters.clear();
  }

  // The next item for which fits() holds, leaving the others in place; null once ended. `missing` settles with an error when none can come.
  next(what, { fits = () => true, timeout = DEADLINE_MS, missing } = {}) {
    const index = this.#items.findIndex(fits);
    if (index >= 0) return Promise.resolve(this.#items.splice(index, 1)[0]);
    if (this.#ended) return Promise.resolve(null);
    const waiter = { fits };
    const arrival = new Promise((resolve, reject) => {
      waiter.resolve = resolve;
      missing?.then(reject);
    });
    this.#waiters.add(waiter);
    return within(arrival, what, timeout).finally(() => this.#waiters.delete(waiter));
  }
}
