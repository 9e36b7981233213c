// What a test file needs, in one import.
export * from './deadline.mjs';
export * from './eight.mjs';
export * from './gate.mjs';
export * from './http.mjs';
export * from './matrix.mjs';
export * from './paths.mjs';
export * from './peer.mjs';
export * from './process.mjs';
export * from './procfs.mjs';
export * from './rpc.mjs';
export * from './sdk.mjs';
export * from './servers.mjs';
export * from './sse.mjs';
export * from './temp.mjs';
export * from './upstream.mjs';
export * from './use.mjs';
export { load, packageFile } from '../npm/load.mjs';
export * from './proxy.mjs';
