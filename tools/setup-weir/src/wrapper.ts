#!/usr/bin/env node
// Runs weir and sets the outputs stdout, stderr and exitcode of the step. Exit code 2 of a plan
// means changes, so it doesn't fail the step.
import * as core from '@actions/core';
import { exec } from '@actions/exec';

async function run(): Promise<void> {
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  const code = await exec(`"${process.env.SETUP_WEIR_PROGRAM ?? ''}"`, process.argv.slice(2), {
    ignoreReturnCode: true,
    silent: true, // the listeners print
    listeners: {
      stdout: (data) => { process.stdout.write(data); out.push(data); },
      stderr: (data) => { process.stderr.write(data); err.push(data); },
    },
  });
  core.setOutput('stdout', Buffer.concat(out).toString());
  core.setOutput('stderr', Buffer.concat(err).toString());
  core.setOutput('exitcode', String(code));
  if (code !== 0 && code !== 2) {
    process.exitCode = code;
  }
}

run().catch((error: unknown) => core.setFailed(error instanceof Error ? error.message : String(error)));
