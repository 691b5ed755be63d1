import { createHash, createPublicKey, verify } from 'node:crypto';
import { readFile } from 'node:fs/promises';

import * as cache from '@actions/tool-cache';
import * as semver from 'semver';

/** A release server: a folder with index.json, and a folder for each version. */
export class Server {
  constructor(
    private readonly address: string,
    private readonly publicKey: string,
  ) {}

  private url(...path: string[]): string {
    return [this.address.replace(/\/+$/, ''), ...path.map(encodeURIComponent)].join('/');
  }

  /** Returns the latest version that a range such as "0.1.x" allows. */
  async find(range: string): Promise<string> {
    const index = JSON.parse(await readFile(await cache.downloadTool(this.url('index.json')), 'utf8')) as { versions: { id: string }[] };
    const ids = index.versions.map((v) => v.id).filter((id) => semver.valid(id) !== null);
    const found = semver.maxSatisfying(ids, range === 'latest' ? '*' : range);
    if (found === null) {
      throw new Error(`${this.address} has no version ${range}. It has: ${ids.join(', ')}`);
    }
    return found;
  }

  /** Downloads an archive and verifies it before anything reads it. Returns its path. */
  async download(version: string, platform: string): Promise<string> {
    const archive = `weir_${version}_${platform}.${platform.startsWith('windows') ? 'zip' : 'tar.gz'}`;
    const sums = `weir_${version}_checksums.txt`;
    const get = async (name: string) => cache.downloadTool(this.url(`v${version}`, name));

    const text = await readFile(await get(sums));
    const signature = Buffer.from(await readFile(await get(`${sums}.sig`), 'utf8'), 'base64');
    if (!verify('sha256', text, createPublicKey(this.publicKey), signature)) {
      throw new Error(`the signature of ${sums} isn't that of the key in public_key`);
    }
    const line = text.toString().split('\n').map((l) => l.split(/\s+\*?/)).find(([, name]) => name === archive);
    if (line === undefined) {
      throw new Error(`${sums} has no checksum of ${archive}`);
    }
    const path = await get(archive);
    const sum = createHash('sha256').update(await readFile(path)).digest('hex');
    if (sum !== line[0]) {
      throw new Error(`the checksum of ${archive} is ${sum}, and ${sums} has ${line[0]}`);
    }
    return path;
  }
}
