// Callers of a gate in a thread of their own.
import { once } from 'node:events';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { Client, Load, pause, pick } from './world.mjs';

export class Callers {
  constructor(origin, { servers = ['s'], ...options }) { this.worker = new Worker(new URL(import.meta.url), { workerData: { origin, servers, options } }); }
  slow(ms) { this.worker.postMessage({ ms }); } // each caller waits so long before a call
  async stop() {
    this.worker.postMessage({ stop: true });
    const [ended] = await once(this.worker, 'message');
    return ended;
  }
}

if (!isMainThread && workerData?.options) {
  const { origin, servers, options } = workerData;
  const client = new Client(origin);
  let wait = 0;
  const paced = { call: async (...call) => { if (wait) await pause(wait); return client.call(...call); } };
  const load = new Load(() => paced, { ...options, server: () => pick(servers) });
  const timer = setInterval(() => { load.latencies.length = 0; }, 1000);
  parentPort.on('message', async ({ ms, stop }) => {
    if (!stop) { wait = ms; return; }
    await load.stop();
    client.close();
    clearInterval(timer);
    const { answers, errors } = load;
    parentPort.postMessage({ calls: Object.values(answers).reduce((sum, n) => sum + n, 0), answers, errors: [...errors] });
    parentPort.close();
  });
}
