// A browser notification for each new call that waits for a person, where the user allowed it and does not look at the page anyway.
import { useEffect, useRef } from 'preact/hooks';
import { getAll, part, type Approval } from './api';
import { plain } from './format';
import { go, useLive } from './state';

function show(a: Approval) {
  const one = new Notification('A call waits for you', { body: plain(`${a.identity}: ${a.server ? `${a.server} ` : ''}${a.tool}`), tag: a.id });
  one.onclick = () => { window.focus(); go(`approvals/${part(a.id)}`); one.close(); };
}

export function useNotifications(may: boolean) {
  const seen = useRef<Set<string> | null>(null); // null: what waited before is not news
  const look = async () => {
    if (!may || !('Notification' in window)) return;
    let pending: Approval[];
    try { pending = await getAll<Approval>('approvals?status=pending'); } catch { return; }
    const before = seen.current;
    seen.current = new Set(pending.map((a) => a.id));
    if (before && document.hidden && Notification.permission === 'granted') pending.filter((a) => !before.has(a.id)).forEach(show);
  };
  useEffect(() => { look(); }, [may]);
  useLive((records) => { if (!records.length || records.some((r) => r.event === 'approval_requested' || r.verdict === 'approve')) look(); });
}
