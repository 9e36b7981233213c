// What stands ready in every JavaScript and TypeScript run, besides tools, callTool and searchTools: skills as modules, and
// a fetch that reaches the code-mode endpoints (any host, any port) over the bridge and nothing else.
globalThis.__importSkill = async (name) => {
  let skill;
  try {
    skill = await callTool('', 'load_skill', { name });
  } catch (error) {
    throw new Error(`Cannot find skill '${name}': ${error.message}`);
  }
  if (skill.error) throw new Error(skill.error);
  const strip = globalThis.__stripTypes ?? ((text) => text);
  const source = skill.metadata.language === 'typescript' ? strip(skill.code) : skill.code;
  const exported = [];
  const text = source
    .replace(/^export\s+default\s+/gm, 'exports.default = ')
    .replace(/^export\s+((?:async\s+)?function\s*\*?\s*|class\s+|const\s+|let\s+|var\s+)([A-Za-z_$][\w$]*)/gm, (_, kind, id) => {
      exported.push(`exports.${id} = ${id};`);
      return `${kind}${id}`;
    })
    .replace(/^export\s*\{([^}]*)\}\s*;?/gm, (_, list) => {
      for (const item of list.split(',').map((part) => part.trim()).filter(Boolean)) {
        const [from, to = from] = item.split(/\s+as\s+/);
        exported.push(`exports.${to} = ${from};`);
      }
      return '';
    });
  const exports = {};
  const AsyncFunction = (async () => {}).constructor;
  await new AsyncFunction('exports', 'module', `${text}\n${exported.join('\n')}`)(exports, { exports });
  return exports;
};

globalThis.fetch = async (target, init = {}) => {
  const { pathname } = new URL(typeof target === 'string' ? target : target.href ?? target.url);
  const respond = (status, body) => ({
    ok: status >= 200 && status < 300, status, statusText: '', headers: new Map([['content-type', 'application/json']]),
    json: async () => JSON.parse(body), text: async () => body,
  });
  const method = (init.method ?? 'GET').toUpperCase();
  const parts = pathname.split('/').filter(Boolean).map(decodeURIComponent);
  try {
    if (parts[0] !== 'mcp') throw new TypeError('fetch failed: there is no network here, only /mcp/servers, /mcp/{server}/tools and /mcp/call');
    if (method === 'GET' && parts.length === 2 && parts[1] === 'servers') return respond(200, JSON.stringify(await callTool('', '/servers', {})));
    if (method === 'GET' && parts.length === 3 && parts[2] === 'tools') return respond(200, JSON.stringify(await callTool('', '/tools', { server: parts[1] })));
    if (method === 'POST' && parts.length === 2 && parts[1] === 'call') {
      let body;
      try { body = JSON.parse(init.body); } catch { return respond(400, JSON.stringify({ error: 'the body is not JSON' })); }
      return respond(200, JSON.stringify(await callTool('', '/call', { server: body.server, tool: body.tool, args: body.args ?? {} })));
    }
  } catch (error) {
    if (error instanceof TypeError) throw error;
    return respond(500, JSON.stringify({ error: error.message }));
  }
  return respond(404, JSON.stringify({ error: 'Not found' }));
};
