// The short form of `make torture`: a few rounds of each kind, with the same checks.
import { test } from 'node:test';
import { canPreload } from './disk.mjs';
import { faults } from './faults.mjs';
import { kills } from './kills.mjs';
import { powerLoss } from './power.mjs';
import { clockJumps, reloadStorm, sickServers, slowDisk, stalledDisk, termUnderLoad } from './trouble.mjs';

const round = (title, needsDisk, run) => test(title, async (t) => {
  if (needsDisk && !canPreload()) { t.skip('SKIPPED LOUDLY: nothing can be preloaded into a build with sanitizers; the plain build runs this'); return; }
  t.diagnostic(JSON.stringify(await run()));
});

round('power loss with a durable log: no decision of a forwarded call is lost', true, () => powerLoss({ durable: true, images: 4, each: 2 }));
round('power loss with a log that is not durable: every loss is reported', true, () => powerLoss({ durable: false, images: 4, each: 2 }));
round('a failing disk: no call without a record, no crash, and it works again', true, () => faults({ schedules: 3 }));
round('kill -9 of any process', false, () => kills({ kills: 8 }));
round('clock jumps', true, () => clockJumps({ jumps: 5 }));
round('a slow disk stalls only the calls that need it', true, () => slowDisk({ seconds: 3 }));
round('a disk that stops: operators wait for it, calls do not', true, () => stalledDisk());
round('5 of 20 servers are sick: no call to another one fails', false, () => sickServers({ seconds: 2 }));
round('a policy that is rewritten all the time: it is taken up, and no call fails', false, () => reloadStorm({ seconds: 4 }));
round('SIGTERM under load: every accepted call is answered', false, () => termUnderLoad({ rounds: 1 }));
