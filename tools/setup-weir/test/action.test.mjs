// Runs the built action as a runner does, with a release server on this machine.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { arch, platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const dist = join(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '..', 'dist');
const system = `${platform()}_${arch() === 'x64' ? 'amd64' : arch()}`;
const pem = (key) => key.export({ type: 'spki', format: 'pem' });

/** Files of a release server with a program that prints its version and arguments. */
function release(dir, key, versions) {
  const files = { '/index.json': JSON.stringify({ versions: versions.map((id) => ({ id })) }) };
  for (const id of versions) {
    const from = join(dir, id);
    mkdirSync(from);
    writeFileSync(join(from, 'weir'), `#!/bin/sh\necho "weir ${id}: $*"\necho "to stderr" >&2\nexit "\${CODE:-0}"\n`, { mode: 0o755 });
    const archive = `weir_${id}_${system}.tar.gz`;
    execFileSync('tar', ['-czf', join(dir, archive), '-C', from, 'weir']);
    const data = readFileSync(join(dir, archive));
    const sums = Buffer.from(`${createHash('sha256').update(data).digest('hex')}  ${archive}\n`);
    files[`/v${id}/${archive}`] = data;
    files[`/v${id}/weir_${id}_checksums.txt`] = sums;
    files[`/v${id}/weir_${id}_checksums.txt.sig`] = sign('sha256', sums, key).toString('base64') + '\n';
  }
  return files;
}

/** Reads a file of commands, such as GITHUB_OUTPUT: a name, a delimiter, and lines up to it. */
function values(file) {
  const found = {};
  for (const [, name, , value] of readFileSync(file, 'utf8').matchAll(/^(.*)<<(ghadelimiter_.*)\n([^]*?)\n\2$/gm)) {
    found[name] = value;
  }
  return found;
}

async function setup(t, change = () => {}) {
  const dir = mkdtempSync(join(tmpdir(), 'setup-weir-'));
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const files = release(dir, privateKey, ['0.1.0', '0.10.0', '0.9.0', '1.0.0-rc1']);
  const requests = [];
  const server = createServer((request, response) => {
    requests.push(request.url);
    const file = files[request.url.replace(/^\/weir/, '')];
    response.writeHead(file === undefined ? 404 : 200).end(file);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  t.after(() => { server.close(); rmSync(dir, { recursive: true }); });
  const runner = Object.fromEntries(['GITHUB_OUTPUT', 'GITHUB_ENV', 'GITHUB_PATH'].map((name) => {
    writeFileSync(join(dir, name), '');
    return [name, join(dir, name)];
  }));
  const inputs = { RELEASES: `http://127.0.0.1:${server.address().port}/weir/`, PUBLIC_KEY: pem(publicKey), VERSION: 'latest', WRAPPER: 'true' };
  change({ files, inputs });
  const env = { PATH: process.env.PATH, HOME: dir, RUNNER_TEMP: join(dir, 'temp'), RUNNER_TOOL_CACHE: join(dir, 'tools'), ...runner };
  const node = (script, args, more) => new Promise((done) =>
    execFile(process.execPath, [script, ...args], { env: { ...env, ...more } }, (error, stdout, stderr) => done({ code: error === null ? 0 : error.code, stdout, stderr })));
  const action = () => node(join(dist, 'setup.js'), [], Object.fromEntries(Object.entries(inputs).map(([name, value]) => [`INPUT_${name}`, value])));
  return { env, node, action, requests, inputs, path: () => readFileSync(env.GITHUB_PATH, 'utf8').trim() };
}

test('installs the latest release with a wrapper', async (t) => {
  const { action, node, env, path } = await setup(t);
  const done = await action();
  assert.equal(done.code, 0, done.stdout);
  assert.equal(values(env.GITHUB_OUTPUT).version, '0.10.0');
  const program = values(env.GITHUB_ENV).SETUP_WEIR_PROGRAM;
  for (const [code, want] of [[0, 0], [1, 1], [2, 0]]) {
    writeFileSync(env.GITHUB_OUTPUT, '');
    const ran = await node(join(path(), 'weir'), ['plan', '-var', 'a=b c'], { SETUP_WEIR_PROGRAM: program, CODE: String(code) });
    assert.deepEqual(ran, { code: want, stdout: 'weir 0.10.0: plan -var a=b c\n', stderr: 'to stderr\n' });
    assert.deepEqual(values(env.GITHUB_OUTPUT), { stdout: 'weir 0.10.0: plan -var a=b c\n', stderr: 'to stderr\n', exitcode: String(code) });
  }
});

test('installs a version of a range without a wrapper, and once', async (t) => {
  const { action, requests, path } = await setup(t, ({ inputs }) => { inputs.VERSION = '<0.10'; inputs.WRAPPER = 'false'; });
  assert.equal((await action()).code, 0);
  assert.equal(execFileSync(join(path(), 'weir'), ['version']).toString(), 'weir 0.9.0: version\n');
  const before = requests.length;
  assert.equal((await action()).code, 0);
  assert.deepEqual(requests.slice(before), ['/weir/index.json']);
});

test('writes credentials', async (t) => {
  const { action, env } = await setup(t, ({ inputs }) => { inputs.CLI_CONFIG_CREDENTIALS_HOSTNAME = 'example.com'; inputs.CLI_CONFIG_CREDENTIALS_TOKEN = 'the"token'; });
  assert.equal((await action()).code, 0);
  assert.equal(readFileSync(values(env.GITHUB_ENV).TF_CLI_CONFIG_FILE, 'utf8'), 'credentials "example.com" {\n  token = "the\\"token"\n}\n');
});

const archive = `/v0.10.0/weir_0.10.0_${system}.tar.gz`;
const sums = '/v0.10.0/weir_0.10.0_checksums.txt';
for (const [name, change, want] of [
  ['another archive', ({ files }) => { files[archive] = files[`/v0.9.0/weir_0.9.0_${system}.tar.gz`]; }, /the checksum of weir_0\.10\.0/],
  ['other checksums', ({ files }) => { files[sums] = Buffer.concat([files[sums], Buffer.from('\n')]); }, /the signature of weir_0\.10\.0_checksums\.txt/],
  ['another signature', ({ files }) => { files[`${sums}.sig`] = files['/v0.9.0/weir_0.9.0_checksums.txt.sig']; }, /the signature of/],
  ['checksums of another release', ({ files }) => { for (const e of ['', '.sig']) files[sums + e] = files[`/v0.9.0/weir_0.9.0_checksums.txt${e}`]; }, /has no checksum of/],
  ['another key', ({ inputs }) => { inputs.PUBLIC_KEY = pem(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey); }, /the signature of/],
  ['no key', ({ inputs }) => { inputs.PUBLIC_KEY = ''; }, /public_key/],
  ['no signature', ({ files }) => { delete files[`${sums}.sig`]; }, /404/],
  ['no such version', ({ inputs }) => { inputs.VERSION = '3.0.0'; }, /has no version 3\.0\.0/],
]) {
  test(`stops at ${name}`, async (t) => {
    const { action, path } = await setup(t, change);
    const done = await action();
    assert.equal(done.code, 1);
    assert.match(done.stdout, want);
    assert.equal(path(), '');
  });
}
