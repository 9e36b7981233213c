// A server as people type it: a command line, lines of names and values, a client's configuration.

// Words as a shell reads them: blanks part, quotes group, a backslash takes the next character as it is.
export function readCommand(line: string): string[] {
  const words: string[] = [];
  let word: string | null = null;
  let quote = '';
  for (let i = 0; i < line.length; i++) {
    const c = line[i];
    if (quote) {
      if (c === quote) quote = '';
      else if (c === '\\' && quote === '"' && '"\\$`'.includes(line[i + 1] ?? '')) word += line[++i];
      else word += c;
    } else if (c === '"' || c === "'") { quote = c; word ??= ''; }
    else if (c === '\\' && i + 1 < line.length) word = (word ?? '') + line[++i];
    else if (/\s/.test(c)) { if (word !== null) words.push(word); word = null; }
    else word = (word ?? '') + c;
  }
  if (quote) throw new Error(`The command has a ${quote} that is not closed.`);
  if (word !== null) words.push(word);
  return words;
}

const quoted = (word: string) => (/^[\w@%+=:,./${}-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);
export const commandLine = (command?: string, args?: string[]) => (command ? [command, ...(args ?? [])].map((w) => quoted(String(w))).join(' ') : '');

export const readPairs = (text: string, sign: string): Record<string, string> => Object.fromEntries(text.split('\n').map((l) => l.trim()).filter(Boolean).map((l) => {
  const at = l.indexOf(sign);
  if (at < 1) throw new Error(`\`${l}\` is no ${sign === '=' ? 'NAME=VALUE' : 'Name: value'}.`);
  return [l.slice(0, at).trim(), l.slice(at + 1).trim()];
}));

// The first server of `mcpServers`, `servers`, or one entry alone.
export function readSnippet(text: string): { name: string; kind: string; line: string; url: string; env: string; headers: string } | null {
  let json: any;
  try { json = JSON.parse(text); } catch { return null; }
  const all = json?.mcpServers ?? json?.servers ?? (json?.command || json?.url ? { server: json } : json);
  const found = Object.entries<any>(all ?? {}).find(([, s]) => s && (typeof s.command === 'string' || typeof s.url === 'string'));
  if (!found) return null;
  const [name, s] = found;
  const lines = (pairs: any, sign: string) => Object.entries(pairs ?? {}).map(([k, v]) => `${k}${sign}${v}`).join('\n');
  return { name, kind: s.url ? 'url' : 'command', line: commandLine(s.command, s.args), url: s.url ?? '', env: lines(s.env, '='), headers: lines(s.headers, ': ') };
}
