// Runs what the tutorial, the recipes and the pages about moving show. A page is one shell session in an empty directory: a block with a title is a file, a `sh` block
// is run, and the `text` block behind it is what it prints (a line holds when it occurs in the output, in order; … stands for anything).
// A comment in front of a block says what differs: <!-- test: status 1 -->, or <!-- test: skip needs the internet -->. Commands between
// `<!-- test: setup` and `-->` are run without being shown: files that a reader has, and a page about other things need not create.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { freePort, node, packages, root, sallyport, tempDir } from '../lib/index.mjs';

const docs = path.join(root, 'docs');
const folder = (name) => readdirSync(path.join(docs, name)).filter((file) => file.endsWith('.md') && file !== 'index.md').map((file) => `${name}/${file}`);
const pages = ['tutorial.md', 'get-started.md', 'integrations.md', 'admin.md', 'audit.md', 'backup.md', 'catalogue.md', 'identity.md', 'pii.md', 'policy.md', 'risk.md', 'sandbox.md', 'troubleshooting.md', 'operate/identity-provider.md', 'operate/tls.md', 'operate/reverse-proxy.md', 'operate/kubernetes.md', 'security/self-approval.md', 'security/evidence.md', ...folder('recipes'), ...folder('migrate')];
const GENERATED = folder('reference'); // made and checked by scripts/reference

function blocksOf(text) {
  const shown = text.replace(/^<!-- test: setup\n([\s\S]*?)^-->$/gm, '```sh\n$1```');
  const found = [...shown.matchAll(/^(?:<!-- test: (.*?) -->\n)?```(\w+)([^\n]*)\n([\s\S]*?)^```$/gm)];
  return found.map(([, note = '', kind, more, body], i) => ({
    kind, body, line: shown.slice(0, found[i].index).split('\n').length,
    file: more.match(/title="([^"]+)"/)?.[1],
    skip: note.startsWith('skip'), status: Number(note.match(/^status (\d+)/)?.[1] ?? 0),
  }));
}

// The words of a page run here: the program is this build's, npx starts what the tests have installed, and nothing comes from a network.
function bench(dir) {
  const bin = path.join(dir, '.bin');
  mkdirSync(bin);
  symlinkSync(sallyport, path.join(bin, 'sallyport'));
  symlinkSync(node, path.join(bin, 'node'));
  symlinkSync(path.join(root, 'tests/npm/node_modules'), path.join(dir, 'node_modules'));
  writeFileSync(path.join(bin, 'npx'), `#!/bin/sh
while [ "$1" = -y ]; do shift; done
package=$1; shift
case $package in
@modelcontextprotocol/server-filesystem*) exec node "${packages.filesystem}" "$@" ;;
*) echo "npx: $package is not installed for the tests" >&2; exit 1 ;;
esac
`);
  chmodSync(path.join(bin, 'npx'), 0o755);
  return { ...process.env, PATH: `${bin}:${process.env.PATH}`, HOME: dir, SALLYPORT_HOME: path.join(dir, '.home'), SALLYPORT_NODE: node, NO_COLOR: '1', TZ: 'UTC' };
}

const MARK = '\u0001block ';
function script(blocks) {
  const parts = blocks.map((block, i) => {
    if (block.file) return `mkdir -p "$(dirname '${block.file}')" && cat > '${block.file}' <<'END_OF_${i}'\n${block.body}END_OF_${i}`;
    if (block.kind !== 'sh' || block.skip) return '';
    return `failed=0\n{ ${block.body}\n} 2>&1\nstatus=$?\nprintf '\\n${MARK}%s %s %s\\n' ${i} $status $failed`;
  });
  return `trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT\ntrap 'failed=$LINENO' ERR\n${parts.join('\n')}\n`;
}

function holds(expected, printed, where) {
  let rest = printed;
  for (const line of expected.split('\n').map((one) => one.trim()).filter((one) => one && one !== '…')) {
    const pattern = line.split('…').map((part) => part.trim().replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('[^\\n]*');
    const at = rest.search(new RegExp(pattern));
    assert.ok(at >= 0, `${where}: nothing like this was printed:\n  ${line}\nbut:\n${printed}`);
    rest = rest.slice(at + rest.slice(at).match(new RegExp(pattern))[0].length);
  }
}

describe('pages that can be run', { concurrency: 2 }, () => {
  for (const page of pages) {
    test(page, async () => {
      // Pages say 8640 and 8641; pages that run beside each other need ports of their own.
      const blocks = blocksOf(readFileSync(path.join(docs, page), 'utf8').replaceAll('8640', await freePort()).replaceAll('8641', await freePort()));
      assert.ok(blocks.some((block) => block.kind === 'sh'), 'the page shows no command');
      const dir = tempDir('page');
      const run = spawnSync('bash', ['-c', script(blocks)], { cwd: dir, env: bench(dir), encoding: 'utf8', timeout: 500_000 });
      assert.equal(run.error, undefined, `${run.error}\n${run.stdout}`);
      const printed = {};
      let text = '';
      for (const line of run.stdout.split('\n')) {
        if (!line.startsWith(MARK)) { text += `${line}\n`; continue; }
        const [i, status, failed] = line.slice(MARK.length).split(' ').map(Number);
        printed[i] = { text, status, failed };
        text = '';
      }
      for (const [i, block] of blocks.entries()) {
        if (block.kind !== 'sh' || block.file || block.skip) continue;
        const where = `docs/${page}:${block.line}`;
        assert.ok(printed[i], `${where} did not end:\n${text}${run.stderr}`);
        assert.equal(printed[i].status, block.status, `${where}: exit status ${printed[i].status}\n${printed[i].text}`);
        if (block.status === 0) assert.equal(printed[i].failed, 0, `${where}: a command in the block failed, although the last one did not\n${printed[i].text}`);
        if (blocks[i + 1]?.kind === 'text') holds(blocks[i + 1].body, printed[i].text, where);
      }
    });
  }
});

test('every command of the other pages says why it is not run', () => {
  const others = readdirSync(docs, { recursive: true }).filter((name) => name.endsWith('.md') && !pages.includes(name) && !GENERATED.includes(name));
  const silent = others.flatMap((name) => blocksOf(readFileSync(path.join(docs, name), 'utf8')).filter(({ kind, skip }) => kind === 'sh' && !skip).map(({ line }) => `docs/${name}:${line}`));
  assert.deepEqual(silent, [], 'add it to the pages that are run, or a comment <!-- test: skip WHY -->');
});

test('a command stands in a block of its own kind: with no prompt before it and no words behind it, so that it can be pasted', () => {
  const files = readdirSync(docs, { recursive: true }).filter((name) => name.endsWith('.md') && !GENERATED.includes(name));
  const hidden = files.flatMap((name) => {
    const text = readFileSync(path.join(docs, name), 'utf8');
    return [...text.matchAll(/^( *)```(\w*)[^\n]*\n([\s\S]*?)^\1```$/gm)]
      .filter(([, , kind, body]) => (kind === '' && /^(\$ |sallyport [a-z-]|make |curl |npx )/m.test(body)) || (kind === 'sh' && /^\$ /m.test(body)))
      .map(({ index }) => `docs/${name}:${text.slice(0, index).split('\n').length}`);
  });
  assert.deepEqual(hidden, [], 'write ```sh, and comments behind #');
});
