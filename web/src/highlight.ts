// Colours for the languages that code runs in: words, texts, numbers and comments, which is all that a short program needs. Full grammars
// would be several times the size of the editor's chunk.
import { StreamLanguage, type StringStream } from '@codemirror/language';

interface Grammar { words: string; line: string; block?: [string, string]; quotes: string[]; long: string[]; caseless?: boolean }
interface State { until: string | null; as: 'string' | 'comment' }

const GRAMMARS: Record<string, Grammar> = {
  python: {
    words: 'and as assert async await break class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return True try while with yield',
    line: '#', quotes: ['"', "'"], long: ['"""', "'''"],
  },
  typescript: {
    words: 'abstract any as async await boolean break case catch class const continue declare default delete do else enum export extends false finally for from function if implements import in infer instanceof interface keyof let namespace never new null number of private protected public readonly return satisfies static string super switch this throw true try type typeof undefined unknown var void while yield',
    line: '//', block: ['/*', '*/'], quotes: ['"', "'"], long: ['`'],
  },
  sql: {
    words: 'all alter and as asc begin between by case commit create cross delete desc distinct drop else end exists false from full group having in index inner insert intersect into is join left like limit not null offset on or order outer primary right rollback select set table then true union unique update values view when where with',
    line: '--', block: ['/*', '*/'], quotes: ['"'], long: ["'"], caseless: true,
  },
  bash: {
    words: 'case cd do done echo elif else esac exit export fi for function if in local return set shift then unset until while',
    line: '#', quotes: [], long: ['"', "'"],
  },
};

// Up to the end of a text or comment, or of the line where it goes on behind it. A backslash takes the next character with it.
function finish(stream: StringStream, state: State): string {
  const { until, as } = state;
  while (!stream.eol()) {
    if (stream.match(until!)) { state.until = null; return as; }
    if (stream.next() === '\\' && as === 'string') stream.next();
  }
  return as;
}

export function highlighting(name: string) {
  const grammar = GRAMMARS[name];
  if (!grammar) return [];
  const words = new Set(grammar.words.split(' '));
  return StreamLanguage.define<State>({
    name,
    startState: () => ({ until: null, as: 'string' }),
    token(stream, state) {
      if (state.until) return finish(stream, state);
      if (stream.eatSpace()) return null;
      if (stream.match(grammar.line)) { stream.skipToEnd(); return 'comment'; }
      if (grammar.block && stream.match(grammar.block[0])) { Object.assign(state, { until: grammar.block[1], as: 'comment' }); return finish(stream, state); }
      for (const quote of [...grammar.long, ...grammar.quotes]) {
        if (!stream.match(quote)) continue;
        Object.assign(state, { until: quote, as: 'string' });
        const style = finish(stream, state);
        if (!grammar.long.includes(quote)) state.until = null; // it ends with its line
        return style;
      }
      if (stream.match(/^\d[\w.]*/)) return 'number';
      const word = stream.match(/^[A-Za-z_$][\w$]*/) as RegExpMatchArray | null;
      if (!word) { stream.next(); return null; }
      return words.has(grammar.caseless ? word[0].toLowerCase() : word[0]) ? 'keyword' : null;
    },
  });
}
