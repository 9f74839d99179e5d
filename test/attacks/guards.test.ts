import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const long = process.env.HUNKWISE_LONG === "1";
const run = promisify(execFile);

/** As whoever types the command has it: nothing of the long run, nor of the runner that this is a test of. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(?:HUNKWISE_LONG|VITEST|TEST|NODE_ENV)/.test(name)),
);

it.runIf(long)("each guard's test fails once the guard is gone", { timeout: 7_200_000 }, async () => {
  const root = join(import.meta.dirname, "../..");
  const { stdout } = await run("npm", ["run", "-s", "test:guards"], { cwd: root, env, maxBuffer: 1e8 }).catch(
    (error: { stdout?: string }) => ({ stdout: error.stdout ?? String(error) }),
  );
  const [told = ""] = stdout.trim().split("\n").slice(-1);
  const [, noticed, all] = /(\d+) of (\d+) guards are noticed/.exec(told) ?? [undefined, "0", stdout];
  expect(noticed).toBe(all);
});
