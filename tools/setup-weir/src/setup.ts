// The action installs a verified release and puts it, or its wrapper, into the PATH.
import { chmod, copyFile, mkdir, rename, writeFile } from 'node:fs/promises';
import { arch, platform } from 'node:os';
import { join } from 'node:path';

import * as core from '@actions/core';
import * as cache from '@actions/tool-cache';

import { Server } from './release';

const windows = platform() === 'win32';

async function install(server: Server, version: string): Promise<string> {
  const cached = cache.find('weir', version);
  if (cached !== '') {
    return cached;
  }
  const system = `${windows ? 'windows' : platform()}_${arch() === 'x64' ? 'amd64' : arch()}`;
  const archive = await server.download(version, system);
  if (!windows) {
    return cache.cacheDir(await cache.extractTar(archive), 'weir', version);
  }
  await rename(archive, `${archive}.zip`); // PowerShell wants this name
  return cache.cacheDir(await cache.extractZip(`${archive}.zip`), 'weir', version);
}

/** Writes the wrapper to a folder of its own, so that the cached release stays as it is. */
async function wrap(program: string): Promise<string> {
  const dir = join(process.env.RUNNER_TEMP ?? '', 'weir-wrapper');
  await mkdir(dir, { recursive: true });
  await copyFile(join(__dirname, 'wrapper.js'), join(dir, 'weir'));
  await chmod(join(dir, 'weir'), 0o755);
  if (windows) {
    await writeFile(join(dir, 'weir.cmd'), '@node "%~dp0weir" %*\r\n');
  }
  core.exportVariable('SETUP_WEIR_PROGRAM', program);
  return dir;
}

async function configure(): Promise<void> {
  const token = core.getInput('cli_config_credentials_token');
  if (token === '') {
    return;
  }
  core.setSecret(token);
  const file = join(process.env.RUNNER_TEMP ?? '', 'weir.tfrc');
  const host = core.getInput('cli_config_credentials_hostname');
  await writeFile(file, `credentials ${JSON.stringify(host)} {\n  token = ${JSON.stringify(token)}\n}\n`, { mode: 0o600 });
  core.exportVariable('TF_CLI_CONFIG_FILE', file);
}

async function run(): Promise<void> {
  const server = new Server(core.getInput('releases', { required: true }), core.getInput('public_key', { required: true }));
  const version = await server.find(core.getInput('version') || 'latest');
  const dir = await install(server, version);
  core.addPath(core.getBooleanInput('wrapper') ? await wrap(join(dir, windows ? 'weir.exe' : 'weir')) : dir);
  await configure();
  core.setOutput('version', version);
  core.info(`weir ${version} is installed.`);
}

run().catch((error: unknown) => core.setFailed(error instanceof Error ? error.message : String(error)));
