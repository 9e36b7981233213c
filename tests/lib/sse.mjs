// Server-sent events, read as they come: fields, comments, any line ending.

// A CR at the very end may be half of a CRLF: it is left until more arrives.
const LINE_END = /\r\n|\n|\r(?!$)/g;

export class SseParser {
  #rest = '';
  #fields = {};
  #started = false;
  comments = [];
  retry;

  constructor(onEvent) { this.onEvent = onEvent; }

  push(text) {
    const fresh = this.#rest.length;
    this.#rest += text;
    if (!this.#started && this.#rest) {
      this.#started = true;
      this.#rest = this.#rest.replace(/^\uFEFF/, '');
    }
    // What was there before holds no line end, except a CR that waits for its LF.
    LINE_END.lastIndex = Math.max(0, fresh - 1);
    let from = 0;
    for (let match; (match = LINE_END.exec(this.#rest)) !== null;) {
      this.#line(this.#rest.slice(from, match.index));
      from = LINE_END.lastIndex;
    }
    this.#rest = this.#rest.slice(from);
  }

  #line(line) {
    if (line === '') {
      const event = this.#fields;
      this.#fields = {};
      if (Object.keys(event).length > 0) this.onEvent({ event: 'message', ...event });
      return;
    }
    if (line.startsWith(':')) {
      this.comments.push(line.slice(1).trim());
      return;
    }
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') this.#fields.data = 'data' in this.#fields ? `${this.#fields.data}\n${value}` : value;
    else if (name === 'retry') this.#fields.retry = this.retry = Number(value);
    else this.#fields[name] = value;
  }
}

export function formatEvent(data, { event = 'message', id, retry } = {}) {
  const value = typeof data === 'string' ? data : JSON.stringify(data);
  return [
    event && `event: ${event}\n`, id !== undefined && `id: ${id}\n`, retry !== undefined && `retry: ${retry}\n`,
    ...value.split('\n').map((line) => `data: ${line}\n`), '\n',
  ].filter(Boolean).join('');
}
