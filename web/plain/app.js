// The dashboard: a view of the admin API and nothing else. Everything that agents wrote is shown as text.
'use strict';

const $ = (id) => document.getElementById(id);
const KEY = 'sallyport-token';
const ROWS = 100;
let stream;
let lastSeen = 0; // number of the newest record

function headers() {
  const token = sessionStorage.getItem(KEY);
  return token ? { Authorization: `Bearer ${token}` } : {};
}

async function api(path, options = {}) {
  const response = await fetch(`/api/v1/${path}`, { ...options, headers: { ...headers(), ...options.headers } });
  const body = await response.json();
  if (!response.ok) throw new Error(body.error ?? body.message ?? response.status);
  return body;
}

const say = (text) => { $('status').textContent = text; };

// What cannot be seen is spelled out: an approver must not be shown other arguments than the server gets.
const plain = (text) => String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]|\udb40[\udc00-\udfff]/g,
  (c) => `<U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}>`);

function row(cells, { className = '', code = [] } = {}) {
  const tr = document.createElement('tr');
  tr.className = className;
  cells.forEach((cell, i) => {
    const td = tr.insertCell();
    if (code.includes(i)) td.className = 'code';
    if (cell instanceof Node) td.append(cell);
    else if (cell !== undefined && cell !== null) td.textContent = plain(cell);
  });
  return tr;
}

function button(label, act) {
  const b = document.createElement('button');
  b.textContent = label;
  b.addEventListener('click', async () => {
    b.disabled = true;
    try { await act(); } catch (error) { say(error.message); b.disabled = false; }
  });
  return b;
}

function approvalRow(a) {
  const decide = (verb) => async () => {
    await api(`approvals/${encodeURIComponent(a.id)}/${verb}`, { method: 'POST' });
    await showApprovals();
  };
  const actions = document.createElement('span');
  actions.append(button('Approve', decide('approve')), ' ', button('Deny', decide('deny')));
  const args = JSON.stringify(a.arguments, null, 1) + (a.arguments_cut ? '\n(cut)' : '');
  return row([a.identity, `${a.server ?? ''} ${a.tool}\n${a.text ?? ''}`, args, a.expires_at, actions], { code: [2] });
}

async function showApprovals() { $('approvals').replaceChildren(...(await api('approvals?status=pending')).map(approvalRow)); }
async function showServers() {
  $('servers').replaceChildren(...(await api('servers')).map((s) => row([s.name, s.transport, s.fault ? `${s.state}: ${s.fault}` : s.state, s.links, s.tools_known ? s.tools : undefined])));
}

function addDecision(record) {
  if (record.seq <= lastSeen) return;
  lastSeen = record.seq;
  if (record.kind !== 'decision') return;
  const { time, identity, server, method, tool, verdict, rule } = record;
  $('decisions').prepend(row([time, identity, `${server ?? ''} ${tool ?? method}`, verdict, rule], { className: verdict }));
  while ($('decisions').rows.length > ROWS) $('decisions').deleteRow(-1);
}

async function showDecisions() {
  const records = (await api(`audit?limit=${ROWS}`)).reverse();
  lastSeen = 0;
  $('decisions').replaceChildren();
  records.forEach(addDecision);
}

// Server-sent events with a header, which EventSource cannot send.
async function follow(signal) {
  const response = await fetch('/api/v1/audit/stream', { headers: headers(), signal });
  if (!response.ok) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (rest + value).split('\n\n');
    rest = events.pop();
    for (const event of events) {
      const data = /^data: (.*)$/m.exec(event)?.[1];
      // From here on the stream tells everything; what was before, the lists do.
      if (/^event: ready$/m.test(event)) await Promise.all([showApprovals(), showDecisions()]);
      if (!data || !/^event: record$/m.test(event)) continue;
      const record = JSON.parse(data);
      addDecision(record);
      if (record.event?.startsWith('approval_')) showApprovals().catch(() => {});
    }
  }
}

async function show() {
  stream?.abort();
  try {
    const status = await api('status');
    say(`${status.version} · ${status.identity} · ${status.sessions} sessions`);
    await showServers();
    stream = new AbortController();
    follow(stream.signal).catch(() => {});
  } catch (error) {
    say(error.message);
  }
}

$('login').addEventListener('submit', (event) => {
  event.preventDefault();
  sessionStorage.setItem(KEY, $('token').value.trim());
  $('token').value = '';
  show();
});
show();
