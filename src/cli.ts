#!/usr/bin/env node
/*
 * The entry of the program. It only checks the version of Node, in words that Node 12 reads, and imports nothing before: an old Node must
 * reach the message, and could not read the rest.
 */

const OLDEST_NODE = [22, 20] as const;

function isTooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1]);
}

if (isTooOld(process.versions.node)) {
  process.stderr.write(
    `hunkwise: Node ${process.versions.node} is too old. Install Node ${OLDEST_NODE.join(".")} or newer, and put it first on PATH (docs/cli.md#install).\n`,
  );
  process.exitCode = 2;
} else {
  // Node's own exit code for a program that cannot be loaded is 1, which means "a finding".
  import("./cli/main.ts").then(
    ({ main }) => main(),
    (error) => {
      process.stderr.write(`hunkwise: the program cannot be loaded: ${error}\n`);
      process.exitCode = 2;
    },
  );
}
