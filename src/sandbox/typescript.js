// Takes the types out of TypeScript, on every Node that can be a zygote: what is only for the compiler becomes blanks, so
// that lines and columns stay. The parser is Node's own acorn, taught where types may stand; types themselves are only
// measured, from one character to another, never understood. Enums and parameter properties, which are not only types,
// become the JavaScript they mean. Namespaces that hold values, decorators and `accessor` are refused.
"use strict";

// ---- how far a type reaches ----

// Each function takes a position and returns the one after what it names, or -1 where that does not stand there.
function typeScanner(text) {
  const WORD = /[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/uy;
  const NUMBER = /-?(?:0[xob][\da-f_]+|\d[\d_]*(?:\.[\d_]*)?(?:e[+-]?\d+)?)n?/iy;
  const NO_TYPE = /^(?:await|break|case|catch|class|continue|debugger|default|delete|do|else|enum|export|extends|finally|for|function|if|in|instanceof|return|super|switch|throw|try|var|while|with|yield)$/;
  const OPEN = "([{", CLOSE = ")]}";

  function word(p) {
    WORD.lastIndex = p;
    return WORD.exec(text)?.[0] ?? "";
  }

  function space(p) {
    for (;; p++) {
      if (text.startsWith("//", p)) {
        while (p < text.length && !/[\n\r\u2028\u2029]/.test(text[p])) p++;
      } else if (text.startsWith("/*", p)) {
        const end = text.indexOf("*/", p + 2);
        p = end < 0 ? text.length : end + 1;
        continue;
      }
      if (p >= text.length || !/\s/.test(text[p])) return p;
    }
  }

  const newline = (from, to) => /[\n\r\u2028\u2029]/.test(text.slice(from, to));
  const sameLine = (p) => !newline(p, space(p));

  function string(p) {
    const quote = text[p];
    for (p++; p < text.length && text[p] !== quote; p++) {
      if (text[p] === "\\") p++;
      else if (quote === "`" && text.startsWith("${", p)) p = brackets(p + 1) - 1;
      if (p < 0) return -1;
    }
    return p < text.length ? p + 1 : -1;
  }

  // From an opening bracket past the one that closes it.
  function brackets(p) {
    for (let depth = 0; p < text.length; p++) {
      const c = text[p];
      if (c === '"' || c === "'" || c === "`") {
        p = string(p) - 1;
        if (p < 0) return -1;
      } else if (c === "/" && (text[p + 1] === "/" || text[p + 1] === "*")) {
        p = space(p) - 1;
      } else if (OPEN.includes(c)) {
        depth++;
      } else if (CLOSE.includes(c) && --depth === 0) {
        return p + 1;
      }
    }
    return -1;
  }

  const list = (p, close, item) => {
    for (p = space(p + 1); text[p] !== close;) {
      if ((p = item(p)) < 0) return -1;
      p = space(p);
      if (text[p] === ",") p = space(p + 1);
      else if (text[p] !== close) return -1;
    }
    return p + 1;
  };

  const typeArguments = (p) => list(p, ">", type);
  const typeParameters = (p) => list(p, ">", (at) => {
    for (let w; /^(?:const|in|out)$/.test(w = word(at)) && word(space(at + w.length)); ) at = space(at + w.length);
    const name = word(at);
    if (!name) return -1;
    at = space(at + name.length);
    if (word(at) === "extends" && (at = type(at + 7)) < 0) return -1;
    at = space(at);
    return text[at] === "=" ? type(at + 1) : at;
  });

  // (…) => type, with what may stand before it; undefined when it is none.
  function functionType(p) {
    let w = word(p);
    if (w === "abstract" && word(space(p + 8)) === "new") p = space(p + 8), w = "new";
    if (w === "new" && "<(".includes(text[space(p + 3)])) p = space(p + 3);
    if (text[p] === "<") p = space(typeParameters(p));
    const end = text[p] === "(" ? brackets(p) : undefined;
    if (!(end >= 0)) return end;
    const arrow = space(end);
    return text.startsWith("=>", arrow) && parameters(p) ? returnType(arrow + 2) : undefined;
  }

  // ((a) => b) is a type in brackets, (a) => b is none: does a parameter stand behind this one?
  function parameters(p) {
    p = space(p + 1);
    if (text[p] === ")" || text.startsWith("...", p)) return true;
    const after = "[{".includes(text[p]) ? brackets(p) : p + word(p).length;
    return after > p && ":,?=)".includes(text[space(after)] ?? "x");
  }

  function type(p, insideCondition = false) {
    if ((p = union(space(p))) < 0 || insideCondition || !sameLine(p)) return p;
    if (word(space(p)) !== "extends") return p;
    if ((p = type(space(p) + 7, true)) < 0 || text[p = space(p)] !== "?") return -1;
    if ((p = type(p + 1)) < 0 || text[p = space(p)] !== ":") return -1;
    return type(p + 1);
  }

  function union(p) {
    if (text[p] === "|" || text[p] === "&") p = space(p + 1);
    for (;;) {
      const whole = functionType(p);
      if (whole !== undefined) return whole;
      if ((p = operand(p)) < 0) return -1;
      const next = space(p), c = text[next];
      if ((c !== "|" && c !== "&") || text[next + 1] === c || text[next + 1] === "=") return p;
      p = space(next + 1);
    }
  }

  function operand(p) {
    const w = word(p);
    if (/^(?:keyof|unique|readonly)$/.test(w)) {
      const after = operand(space(p + w.length));
      if (after >= 0) return after;
    }
    if (w === "infer" && word(space(p + 5))) {
      p = space(p + 5);
      p += word(p).length;
      if (word(space(p)) !== "extends") return p;
      const bound = type(space(p) + 7, true);
      return bound >= 0 && text[space(bound)] !== "?" ? bound : p;
    }
    if ((p = primary(p)) < 0) return -1;
    for (;;) { // [] and [index], on the same line
      const next = space(p);
      if (text[next] !== "[" || newline(p, next)) return p;
      const inner = space(next + 1);
      const end = text[inner] === "]" ? inner : space(type(inner));
      if (end < 0 || text[end] !== "]") return -1;
      p = end + 1;
    }
  }

  function primary(p) {
    const c = text[p];
    if (c === undefined) return -1;
    if (OPEN.includes(c)) return brackets(p);
    if (c === '"' || c === "'" || c === "`") return string(p);
    NUMBER.lastIndex = p;
    const number = NUMBER.exec(text);
    if (number) return p + number[0].length;
    const w = word(p);
    if (!w || NO_TYPE.test(w)) return -1;
    if (w === "typeof") return operandName(space(p + 6));
    return operandName(p);
  }

  // import("x").A.B<C>, A.B<C>
  function operandName(p) {
    let w = word(p);
    if (!w) return -1;
    p += w.length;
    if (w === "import" && (text[p = space(p)] !== "(" || (p = brackets(p)) < 0)) return -1;
    while (text[space(p)] === ".") {
      const at = space(space(p) + 1);
      w = word(text[at] === "#" ? at + 1 : at);
      if (!w) return -1;
      p = at + w.length + (text[at] === "#");
    }
    const next = space(p);
    if (text[next] !== "<" || newline(p, next)) return p;
    const end = typeArguments(next);
    return end < 0 ? p : end;
  }

  // A type, `x is T`, `asserts x`, `asserts x is T`.
  function returnType(p) {
    p = space(p);
    let w = word(p), q = p;
    if (w === "asserts" && sameLine(p + 7) && word(space(p + 7)) && word(space(p + 7)) !== "is") {
      q = space(p + 7);
      w = word(q);
      if (word(space(q + w.length)) !== "is") return q + w.length;
    }
    const is = space(q + w.length);
    return w && word(is) === "is" && sameLine(q + w.length) ? type(is + 2) : type(p);
  }

  // ---- statements that are nothing but types ----

  function end(p) {
    if (p < 0) return p;
    const next = space(p);
    return text[next] === ";" ? next + 1 : p;
  }

  const types = (p) => { // A, B<C>
    for (;;) {
      if ((p = type(p)) < 0 || text[space(p)] !== ",") return p;
      p = space(p) + 1;
    }
  };

  // From the name of an interface or a class past its body.
  function body(p) {
    p = space(p);
    if (!/^(?:extends|implements)$/.test(word(p))) p = space(p + word(p).length);
    if (text[p] === "<") p = space(typeParameters(p));
    for (let w; /^(?:extends|implements)$/.test(w = word(p)); ) p = space(types(p + w.length));
    return text[p] === "{" ? brackets(p) : -1;
  }

  function alias(p) {
    p = space(p);
    p = space(p + word(p).length);
    if (text[p] === "<") p = space(typeParameters(p));
    return text[p] === "=" ? end(type(p + 1)) : -1;
  }

  // name?<T>(…): R, or a field; what stands behind its modifiers.
  function member(p) {
    for (let w; /^(?:get|set|async)$/.test(w = word(p)) && /[\w$#["']/.test(text[space(p + w.length)] ?? ""); ) p = space(p + w.length);
    if (text[p] === "[") p = brackets(p);
    else if (text[p] === '"' || text[p] === "'") p = string(p);
    else p += (text[p] === "#") + word(p + (text[p] === "#")).length;
    let next = space(p);
    if (text[next] === "?" || text[next] === "!") p = next + 1, next = space(p);
    if (text[next] === "<") p = typeParameters(next), next = space(p);
    if (text[next] === "(") p = brackets(next), next = space(p);
    if (text[next] === ":") p = returnType(next + 1);
    return p < 0 ? p : end(p);
  }

  function declaration(p) {
    for (let w; /^(?:abstract|async|export|default)$/.test(w = word(p)); ) p = space(p + w.length);
    const w = word(p), after = space(p + w.length);
    if (w === "const" && word(after) === "enum") return declaration(after);
    if (w === "function") return member(text[after] === "*" ? space(after + 1) : after);
    if (w === "class" || w === "interface") return body(after);
    if (w === "type") return alias(after);
    if (/^(?:const|let|var)$/.test(w)) {
      let at = after;
      for (;;) {
        at += word(at).length;
        if (text[space(at)] === ":") at = type(space(at) + 1);
        if (at >= 0 && text[space(at)] === "=") at = type(space(at) + 1);
        if (at < 0 || text[space(at)] !== ",") return end(at);
        at = space(space(at) + 1);
      }
    }
    if (!/^(?:enum|namespace|module|global)$/.test(w)) return -1;
    for (let at = after; at < text.length; at = space(at + 1)) { // a dotted or quoted name
      if (text[at] === "{") return brackets(at);
      if (text[at] === '"' || text[at] === "'") at = string(at) - 1;
      else if (text[at] === ";") return at + 1;
      else if (!/[\w$.]/.test(text[at])) return -1;
    }
    return -1;
  }

  // Where a statement that begins with this word ends when all of it is types; -1 when it is something else.
  function erasable(p, first) {
    const after = space(p + first.length), next = word(after);
    if (!next || newline(p, after)) return -1;
    if (first === "interface") return body(after);
    if (first === "type") return alias(after);
    if (first === "declare") return declaration(after);
    return first === "namespace" || first === "module" ? namespaceOfTypes(after) : -1;
  }

  // namespace A.B { what is erasable itself }
  function namespaceOfTypes(p) {
    while (word(p)) {
      p = space(p + word(p).length);
      if (text[p] === ".") p = space(p + 1);
    }
    if (text[p] !== "{") return -1;
    for (p = space(p + 1); p >= 0 && text[p] !== "}"; p = p < 0 ? p : space(p)) {
      if (word(p) === "export") p = space(p + 6);
      p = text[p] === ";" ? p + 1 : erasable(p, word(p));
    }
    return p < 0 ? p : p + 1;
  }

  // import or export with its braces and its source
  function clause(p) {
    for (p = space(p); p < text.length; p = space(p)) {
      const c = text[p];
      if (c === "{") p = brackets(p);
      else if (c === "*" || c === ",") p++;
      else if (c === '"' || c === "'") {
        p = string(p);
        const w = p < 0 ? "" : word(space(p));
        return end(/^(?:with|assert)$/.test(w) && text[space(space(p) + w.length)] === "{" ? brackets(space(space(p) + w.length)) : p);
      } else if (word(p)) p += word(p).length;
      else break;
      if (p < 0) return -1;
      if (c === "{" && word(space(p)) !== "from") return end(p);
    }
    return -1;
  }

  return { word, space, newline, sameLine, type, types, returnType, typeArguments, typeParameters, erasable, declaration, member, clause, brackets };
}

// ---- the parser ----

function typeStripper(acorn) {
  const tt = acorn.tokTypes;
  const NOT_AN_ARROW = { name: "not an arrow function" };
  const MEMBER_MODIFIERS = /^(?:public|private|protected|readonly|override|abstract|declare|static)$/;
  const PARAMETER_MODIFIERS = /^(?:public|private|protected|readonly|override)$/;
  const RESERVED = /^(?:arguments|await|break|case|catch|class|const|continue|debugger|default|delete|do|else|enum|eval|export|extends|false|finally|for|function|if|implements|import|in|instanceof|interface|let|new|null|package|private|protected|public|return|static|super|switch|this|throw|true|try|typeof|var|void|while|with|yield)$/;
  const RELATIONAL = 7; // how tightly `as` binds, in acorn's numbers
  const STATE = ["pos", "type", "value", "start", "end", "lastTokEnd", "lastTokStart", "exprAllowed", "containsEsc", "strict", "yieldPos",
    "awaitPos", "awaitIdentPos", "potentialArrowAt", "potentialArrowInForAwait", "inTernary", "inHeritage", "trying"];
  const STACKS = ["context", "labels", "scopeStack", "privateNameStack", "properties"];

  const Parser = acorn.Parser.extend((Base) => class extends Base {
    constructor(...given) {
      super(...given);
      this.scan = typeScanner(this.input);
      this.edits = [];
      this.skips = new Map(); // start of what is not to be seen: its end
      this.noArrows = new Set(); // brackets that are known to be no parameters
      this.properties = []; // parameters that become members
      this.inTernary = this.inHeritage = false;
      this.trying = 0;
    }

    // ---- taking away ----

    edit(start, end, text) { this.edits.push({ start, end, text }); }

    blank(start, end, last = "") {
      const text = this.input.slice(start, end).replace(/[^\n\r\u2028\u2029]/g, " ");
      this.edit(start, end, last ? text.slice(0, -1) + last : text);
      this.skips.set(start, end);
    }

    // The next token is the one behind `end`, as if it stood behind a token of this type.
    resume(end, type, expression = false) {
      this.lastTokStart = this.start;
      this.lastTokEnd = this.end = this.pos = end;
      this.type = type;
      this.exprAllowed = expression;
      this.nextToken();
    }

    drop(end, type, expression) {
      const before = this.lastTokEnd;
      this.blank(this.start, end);
      this.resume(end, type, expression);
      if (!this.scan.newline(before, end)) this.lastTokEnd = before;
    }

    skipSpace() {
      super.skipSpace();
      for (let to; (to = this.skips.get(this.pos)) > this.pos; super.skipSpace()) this.pos = to;
    }

    need(end, what) {
      if (end < 0) this.raise(this.start, `Cannot read this ${what}`);
      return end;
    }

    is(type, value) { return this.type === type && this.value === value; }
    angle() { return this.is(tt.relational, "<"); }
    next1(at) { return this.input[this.scan.space(at)] ?? ""; }

    typeParameters() {
      if (this.angle()) this.drop(this.need(this.scan.typeParameters(this.start), "list of type parameters"), tt.name);
    }

    // x?: T, x!: T, x: T
    annotation() {
      if (this.type === tt.question || this.is(tt.prefix, "!")) this.drop(this.end, tt.name);
      if (this.type === tt.colon) this.drop(this.need(this.scan.type(this.end), "type"), tt.name);
    }

    // A statement that goes away must not let its neighbours run together.
    eraseStatement(start, end) {
      const before = this.input.slice(0, start).trimEnd().at(-1);
      this.blank(start, end);
      if (before && !";{".includes(before) && "([`+-*/,.<&|^%=?:".includes(this.next1(end) || "x")) this.edits.at(-1).text = ";" + this.edits.at(-1).text.slice(1);
    }

    emptyStatement(end) {
      const node = this.startNode();
      this.eraseStatement(this.start, end);
      this.resume(end, tt.semi, true);
      return this.finishNode(node, "EmptyStatement");
    }

    getTokenFromCode(code) {
      if (code === 64) this.raise(this.pos, "Decorators are not supported"); // @
      return super.getTokenFromCode(code);
    }

    // ---- what only a second look could know is left to it ----

    declareName() {}
    checkExport() {}
    checkLocalExport() {}

    raise(pos, message) {
      if (this.trying) throw NOT_AN_ARROW;
      super.raise(pos, message);
    }
    raiseRecoverable(pos, message) { this.raise(pos, message); }

    save() {
      const state = { edits: this.edits.length };
      for (const name of STATE) state[name] = this[name];
      for (const name of STACKS) state[name] = this[name].slice();
      return state;
    }
    restore(state) {
      for (const name of STATE) this[name] = state[name];
      for (const name of STACKS) this[name] = state[name].slice();
      for (const { start } of this.edits.splice(state.edits)) this.skips.delete(start);
    }

    // ---- statements ----

    parseStatement(context, topLevel, exports) {
      const { scan, start, value } = this;
      if (this.type === tt.name && !this.containsEsc) {
        const erased = scan.erasable(start, value);
        if (erased >= 0) return this.emptyStatement(erased);
        const after = scan.space(this.end), next = scan.newline(this.end, after) ? "" : scan.word(after);
        if (value === "abstract" && next === "class") this.drop(this.end, tt.semi, true);
        else if (value === "enum" && next) return this.parseEnum();
        else if ((value === "namespace" && next) || (value === "module" && (next || /["']/.test(this.input[after])))) {
          this.raise(start, "Namespaces are not supported: use an object or a function");
        }
      } else if (this.type === tt._const && scan.word(scan.space(this.end)) === "enum") {
        return this.parseEnum();
      } else if (this.type === tt._import && topLevel) {
        const erased = this.typeImport(start, this.end);
        if (erased >= 0) return this.emptyStatement(erased);
        if (/^import\s+[\w$]+\s*=/.test(this.input.slice(start, start + 200))) { // import x = require("y")
          this.edit(start, this.end, "const ");
          this.type = tt._const;
          this.value = "const";
        }
      } else if (this.type === tt._export && topLevel) {
        const erased = this.typeExport(this.end);
        if (erased >= 0) return this.emptyStatement(erased);
      }
      const node = super.parseStatement(context, topLevel, exports);
      if (node.erased || node.declaration?.erased) this.eraseStatement(node.start, this.lastTokEnd);
      return node;
    }

    // Behind `import`: the end of the whole when it brings in nothing but types; else takes those out of the braces.
    typeImport(start, after) {
      const { scan, input } = this;
      const at = scan.space(after), rest = input.slice(at, at + 200);
      if (/^type\s+(?:\{|\*|from\s+from\b|(?!from\b)[\p{ID_Start}$_])/u.test(rest) || /^type\{/.test(rest)) {
        return /^type\s+[\w$]+\s*=/.test(rest) ? scan.declaration(at) : scan.clause(at);
      }
      const end = scan.clause(at);
      const open = end < 0 ? -1 : input.slice(0, end).indexOf("{", at);
      if (open < 0 || /["']/.test(input.slice(at, open))) return -1;
      return this.typeSpecifiers(open) && input.slice(at, open).trim() === "" ? end : -1;
    }

    // { type A, type B as C, d }: true when nothing is left.
    typeSpecifiers(open) {
      const { scan, input } = this;
      let left = 0, taken = 0;
      for (let at = scan.space(open + 1); at < input.length && input[at] !== "}"; at = scan.space(at)) {
        const begin = at, words = [];
        for (let w; at < input.length && input[at] !== "," && input[at] !== "}"; at = scan.space(at)) {
          w = scan.word(at) || (/["']/.test(input[at]) ? /^(["']).*?\1/.exec(input.slice(at))?.[0] : "") || input[at];
          words.push(w);
          at += w.length;
        }
        if (input[at] === ",") at++;
        const [first, second, third] = words;
        const typed = first === "type" && second !== undefined && (second !== "as" || third === undefined || (third === "as" && words.length > 3));
        if (typed) this.blank(begin, at), taken++;
        else left++;
      }
      return taken > 0 && left === 0;
    }

    typeExport(after) {
      const { scan, input } = this;
      const at = scan.space(after), w = scan.word(at), next = scan.space(at + w.length);
      if (w === "type" && "{*".includes(input[next])) return scan.clause(next);
      if (w === "as" && scan.word(next) === "namespace") return scan.clause(next) < 0 ? input.indexOf(";", next) + 1 : -1;
      if (w === "default" && scan.word(next) === "interface") return scan.erasable(next, "interface");
      if (w === "default" && scan.word(next) === "abstract") this.blank(next, next + 8);
      if (w === "abstract" && scan.word(next) === "class") this.blank(at, at + 8);
      if (input[at] === "=") this.raise(at, "`export =` is not supported: use `export default`");
      if (input[at] === "{") this.typeSpecifiers(at);
      return w ? scan.erasable(at, w) : -1;
    }

    shouldParseExportStatement() {
      return super.shouldParseExportStatement() || (this.type === tt.name && /^(?:enum|namespace|module)$/.test(this.value));
    }

    // var E; ((…) => { members })(E ??= {}, -1)
    parseEnum() {
      const node = this.startNode();
      if (this.type === tt._const) this.next();
      this.next();
      node.id = this.parseIdent();
      this.expect(tt.braceL);
      const name = node.id.name;
      this.edit(node.start, this.lastTokEnd, `var ${name};(($e,$v)=>{const $m=(n,v=$v+1)=>{$e[n]=$v=v;if(typeof v==="number")$e[v]=n;return v};`);
      while (this.type !== tt.braceR) {
        const start = this.start, quoted = this.type === tt.string;
        const member = quoted ? this.value : this.parseIdent(true).name;
        if (quoted) this.next();
        const valued = this.eat(tt.eq);
        this.edit(start, this.lastTokEnd, `${quoted || RESERVED.test(member) ? "" : `const ${member}=`}$m(${JSON.stringify(member)}${valued ? "," : ""}`);
        if (valued) this.parseMaybeAssign();
        this.edit(this.lastTokEnd, this.lastTokEnd, ");");
        const comma = this.start;
        if (this.eat(tt.comma)) this.blank(comma, comma + 1);
        else if (this.type !== tt.braceR) this.unexpected();
      }
      this.edit(this.start, this.end, `})(${name}??={},-1);`);
      this.next();
      return this.finishNode(node, "EnumDeclaration");
    }

    // ---- functions ----

    parseFunctionParams(node) {
      this.typeParameters();
      this.thisParameter();
      super.parseFunctionParams(node);
    }

    parseMethod(...given) {
      this.thisParameter();
      return super.parseMethod(...given);
    }

    // (this: T, …): stands at the bracket
    thisParameter() {
      const { scan, input } = this, at = scan.space(this.end);
      if (this.type !== tt.parenL || scan.word(at) !== "this") return;
      let end = scan.space(at + 4);
      if (input[end] === ":") end = scan.space(this.need(scan.type(end + 1), "type"));
      this.blank(at, input[end] === "," ? end + 1 : end);
    }

    parseBindingAtom() {
      let property = false;
      while (this.type === tt.name && PARAMETER_MODIFIERS.test(this.value) && /[\p{ID_Start}$_{[]/u.test(this.next1(this.end))) {
        this.drop(this.end, tt.comma, true);
        property = true;
      }
      const atom = super.parseBindingAtom();
      if (property) this.properties.push(atom.name);
      this.annotation();
      return atom;
    }

    parseFunctionBody(node, isArrow, isMethod, forInit) {
      const properties = this.properties, ternary = this.inTernary;
      this.properties = [];
      if (!isArrow && this.type === tt.colon) this.drop(this.need(this.scan.returnType(this.end), "type"), tt.parenR);
      if (!isArrow && this.type !== tt.braceL) { // a signature without a body
        node.erased = true;
        node.body = null;
        this.semicolon();
        this.exitScope();
        return;
      }
      if (this.type === tt.braceL) this.inTernary = false;
      const open = this.end;
      super.parseFunctionBody(node, isArrow, isMethod, forInit);
      this.inTernary = ternary;
      if (!properties.length) return;
      const above = node.body.body.find((s) => s.type === "ExpressionStatement" && s.expression.type === "CallExpression" && s.expression.callee.type === "Super");
      const at = above ? above.end : open;
      this.edit(at, at, (above ? ";" : "") + properties.map((p) => `this.${p}=${p};`).join(""));
    }

    // ---- arrow functions ----

    // At `(`, `<` or `async`. Null when it is none: then nothing has happened.
    tryArrow(isAsync, forInit) {
      const start = this.start;
      if (this.noArrows.has(start)) return null;
      const saved = this.save(), node = this.startNode();
      const give = () => { this.restore(saved); this.noArrows.add(start); return null; };
      let params, typed = false;
      this.trying++;
      try {
        if (isAsync) this.next();
        const angle = this.start, opened = this.angle();
        this.typeParameters();
        const open = this.start;
        if (isAsync && opened && this.scan.newline(angle, open)) this.edit(angle, angle + 1, "("), this.edit(open, open + 1, " ");
        this.thisParameter();
        this.expect(tt.parenL);
        this.yieldPos = this.awaitPos = this.awaitIdentPos = 0;
        params = this.parseBindingList(tt.parenR, false, true);
        const close = this.lastTokStart;
        if (this.type === tt.colon) typed = this.arrowType(close);
        if (this.type !== tt.arrow || this.scan.newline(this.lastTokEnd, this.start)) throw NOT_AN_ARROW;
        this.next();
        for (const name of ["yieldPos", "awaitPos", "awaitIdentPos"]) this[name] = saved[name];
        const unsure = typed && this.inTernary; // a ? (b) : c => d
        if (!unsure) this.trying--;
        const arrow = this.parseArrowExpression(node, params, isAsync, forInit);
        if (unsure && this.type !== tt.colon) throw NOT_AN_ARROW;
        this.trying = saved.trying;
        return arrow;
      } catch (error) {
        if (error !== NOT_AN_ARROW) throw error;
        give();
        if (saved.trying && params) throw error; // not ours to decide
        return null;
      }
    }

    // `=>` must not stand on a line of its own: the bracket follows the type to its end.
    arrowType(close) {
      const start = this.start, end = this.scan.returnType(this.end);
      if (end < 0 || !this.input.startsWith("=>", this.scan.space(end))) throw NOT_AN_ARROW;
      this.drop(end, tt.parenR);
      if (this.scan.newline(start, end)) {
        this.edits.pop();
        this.edit(close, close + 1, " ");
        this.blank(start, end, ")");
        this.lastTokEnd = end;
      }
      return true;
    }

    parseParenAndDistinguishExpression(canBeArrow, forInit) {
      const first = this.next1(this.end);
      const arrow = canBeArrow && /[\p{ID_Start}$_{[.)]/u.test(first) ? this.tryArrow(false, forInit) : null;
      if (arrow) return arrow;
      const ternary = this.inTernary;
      this.inTernary = false;
      const inner = super.parseParenAndDistinguishExpression(canBeArrow, forInit);
      this.inTernary = ternary;
      return inner;
    }

    parseMaybeAssign(forInit, errors, afterLeft) {
      if (this.angle()) {
        const { start, startLoc } = this, end = this.scan.typeParameters(start);
        const arrow = end >= 0 && this.next1(end) === "(" ? this.tryArrow(false, forInit) : null;
        if (arrow) return afterLeft ? afterLeft.call(this, arrow, start, startLoc) : arrow;
      }
      return super.parseMaybeAssign(forInit, errors, afterLeft);
    }

    // ---- expressions ----

    parseMaybeConditional(forInit, errors) {
      const { start, startLoc } = this, test = this.parseExprOps(forInit, errors);
      if (this.checkExpressionErrors(errors) || this.type !== tt.question) return test;
      this.next();
      const node = this.startNodeAt(start, startLoc), ternary = this.inTernary;
      node.test = test;
      this.inTernary = true;
      node.consequent = this.parseMaybeAssign();
      this.inTernary = ternary;
      this.expect(tt.colon);
      node.alternate = this.parseMaybeAssign(forInit);
      return this.finishNode(node, "ConditionalExpression");
    }

    parseExprOp(left, leftStart, leftLoc, minPrec, forInit) {
      while (this.type === tt.name && /^(?:as|satisfies)$/.test(this.value) && RELATIONAL > minPrec && !this.scan.newline(this.lastTokEnd, this.start)) {
        const end = this.need(this.scan.type(this.end), "type"), next = this.next1(end);
        const apart = "([`".includes(next || "x") && !this.scan.sameLine(end); // a new statement, which would be taken for a call
        this.drop(end, tt.name);
        if (apart) this.edits.at(-1).text = this.edits.at(-1).text.slice(0, -1) + ";";
      }
      return super.parseExprOp(left, leftStart, leftLoc, minPrec, forInit);
    }

    parseMaybeUnary(errors, sawUnary, incDec, forInit) {
      if (this.angle()) this.drop(this.need(this.scan.typeArguments(this.start), "type"), tt.parenL, true); // <T>x
      return super.parseMaybeUnary(errors, sawUnary, incDec, forInit);
    }

    parseExprAtom(errors, forInit, forNew) {
      if (this.is(tt.name, "async") && !this.containsEsc && this.potentialArrowAt === this.start && this.scan.sameLine(this.end) && /[(<]/.test(this.next1(this.end))) {
        const arrow = this.tryArrow(true, forInit);
        if (arrow) return arrow;
      }
      if (this.type === tt.parenL || this.type === tt.name) return super.parseExprAtom(errors, forInit, forNew);
      const ternary = this.inTernary;
      this.inTernary = false;
      const atom = super.parseExprAtom(errors, forInit, forNew);
      this.inTernary = ternary;
      return atom;
    }

    parseSubscript(...given) {
      for (;;) {
        if (this.is(tt.prefix, "!") && !this.scan.newline(this.lastTokEnd, this.start)) {
          this.drop(this.end, tt.name);
        } else if (this.angle()) {
          const end = this.scan.typeArguments(this.start);
          if (end < 0 || !this.endsTypes(end)) break;
          this.drop(end, tt.name);
        } else {
          if (this.type === tt.questionDot && this.input[this.end] === "<") this.blank(this.end, this.need(this.scan.typeArguments(this.end), "list of types"));
          break;
        }
      }
      const ternary = this.inTernary;
      this.inTernary = false;
      const element = super.parseSubscript(...given);
      this.inTernary = ternary;
      return element;
    }

    // May what stands here follow f<T>? Else the angles were comparisons.
    endsTypes(end) {
      const at = this.scan.space(end), c = this.input[at] ?? "", w = this.scan.word(at);
      if (c === "(" || c === "`" || c === "" || this.scan.newline(end, at)) return true;
      if (this.inHeritage && (c === "{" || w === "implements")) return true;
      if (w) return /^(?:in|of|instanceof|as|satisfies)$/.test(w);
      return !/[<>+\-\d"'{[!~/#@]/.test(c);
    }

    parsePropertyName(prop) {
      const key = super.parsePropertyName(prop);
      if (this.angle()) this.typeParameters();
      return key;
    }

    // ---- classes ----

    parseClassId(node, isStatement) {
      if (this.is(tt.name, "implements") && !isStatement) node.id = null;
      else super.parseClassId(node, isStatement);
      this.typeParameters();
    }

    parseClassSuper(node) {
      this.inHeritage = true;
      super.parseClassSuper(node);
      this.inHeritage = false;
      if (this.is(tt.name, "implements")) this.drop(this.need(this.scan.types(this.end), "list of types"), tt.name);
    }

    // Where the member's own name begins, what of its modifiers goes away, and whether all of it does.
    modifiers(at) {
      const { scan, input } = this, taken = [];
      let erased = false;
      for (let w; MEMBER_MODIFIERS.test(w = scan.word(at)); ) {
        const next = scan.space(at + w.length);
        if (scan.newline(at, next) || !/[\p{ID_Start}$_[*#"'\d]/u.test(input[next] ?? "")) break;
        if (w !== "static") taken.push([at, at + w.length]);
        erased ||= w === "abstract" || w === "declare";
        at = next;
      }
      const word = /^(?:get|set|async|static)$/.exec(scan.word(at)); // here the name itself
      const behind = word ? scan.space(at + word[0].length) : at;
      if (word && !erased && /[?!]/.test(input[behind])) taken.push([behind, behind + 1]);
      if (word && !erased && input[behind] === "<") taken.push([behind, this.need(scan.typeParameters(behind), "list of type parameters")]);
      if (input[at] === "[") { // [key: string]: T
        const name = scan.space(at + 1), w = scan.word(name);
        erased ||= w !== "" && this.next1(name + w.length) === ":";
      }
      return { at, taken, erased };
    }

    parseClassElement(allowsSuper) {
      const { start, lastTokEnd } = this, { at, taken, erased } = this.modifiers(start);
      if (erased) {
        this.drop(this.need(this.scan.member(at), "member"), tt.semi, true);
        return null;
      }
      for (const [from, to] of taken) this.blank(from, to);
      if (taken.length && taken[0][0] === start) {
        if (/[[*]/.test(this.next1(taken[0][1]))) this.edits.at(-1).text = ";" + this.edits.at(-1).text.slice(1);
        this.resume(start, tt.semi, true);
        this.lastTokEnd = lastTokEnd;
      }
      const element = super.parseClassElement(allowsSuper);
      if (!element?.value?.erased) return element;
      this.blank(start, this.lastTokEnd);
      return null;
    }

    parseClassElementName(element) {
      const name = super.parseClassElementName(element);
      if (this.type === tt.question || this.is(tt.prefix, "!")) this.drop(this.end, tt.name);
      this.typeParameters();
      return name;
    }

    parseClassField(field) {
      this.annotation();
      return super.parseClassField(field);
    }
  });

  return function strip(code, options) {
    const parser = new Parser(options, code);
    parser.parse();
    const edits = parser.edits.map((e, i) => ({ ...e, i }));
    const inserts = (e) => e.start === e.end;
    edits.sort((a, b) => a.start - b.start || inserts(b) - inserts(a) || b.end - a.end || a.i - b.i);
    let text = "", at = 0;
    for (const e of edits) {
      if (e.start < at) continue; // inside of what goes away
      text += code.slice(at, e.start) + e.text;
      at = e.end;
    }
    return text + code.slice(at);
  };
}
