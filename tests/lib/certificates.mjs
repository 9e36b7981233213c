// Certificates of authorities of one's own, made by openssl in a directory: certificates(dir).authority(name), .certificate(name, ca, ext).
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './process.mjs';

export function certificates(dir) {
  async function openssl(...line) {
    const { code, stderr } = await run('openssl', line, { cwd: dir });
    assert.equal(code, 0, stderr);
  }
  const file = (name) => join(dir, name);
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const authority = (name) => openssl('req', '-x509', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.pem`, '-days', '2', '-subj', `/CN=${name}`);
  async function certificate(name, ca, ext, subject = `/O=Test/CN=${name}`) {
    writeFileSync(file(`${name}.ext`), `${ext}\n`);
    await openssl('req', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', subject);
    await openssl('x509', '-req', '-in', `${name}.csr`, '-CA', `${ca}.pem`, '-CAkey', `${ca}.key`, '-CAcreateserial', '-out', `${name}.pem`, '-days', '2', '-extfile', `${name}.ext`);
  }
  return { file, authority, certificate };
}
