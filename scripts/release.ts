/**
 * `npm run release -- --dry-run`: makes all files of a release in `release/`, and checks each with the program that its users have.
 *
 * `--make` and `--check` are the two halves. The workflow Release runs them in two jobs: nobody publishes what the many programs of the
 * checks could have changed. Only that workflow publishes, because npm's provenance is about a workflow.
 */
import { parseArgs } from "node:util";
import { checks } from "./release/checks.ts";
import { makeRelease } from "./release/make.ts";
import { CannotCheck } from "./release/program.ts";

const { values } = parseArgs({
  options: {
    "dry-run": { type: "boolean" },
    make: { type: "boolean" },
    check: { type: "boolean" },
    version: { type: "string" },
    without: { type: "string", multiple: true, default: [] },
  },
});
const { "dry-run": both, without } = values;

const say = (mark: string, text: string) =>
  console.log(`${mark.padEnd(11)} ${text.replaceAll("\n", `\n${" ".repeat(12)}`)}`);

/** Whether all of them passed. One that cannot be made here fails, unless it is left out on purpose: nothing is skipped in silence. */
async function checkAll(): Promise<boolean> {
  const unchecked: string[] = [];
  let failed = 0;
  for (const { name, by, check } of checks) {
    const line = `${name} (${by})`;
    const since = performance.now();
    try {
      if (without.includes(name)) throw new CannotCheck("left out by --without");
      const seen = await check();
      say("ok", `${line}: ${seen} [${((performance.now() - since) / 1000).toFixed(1)} s]`);
    } catch (error) {
      const { message } = error as Error;
      if (error instanceof CannotCheck) unchecked.push(name);
      else failed++;
      say(error instanceof CannotCheck ? "not checked" : "FAILED", `${line}: ${message}`);
    }
  }
  const missing = unchecked.filter((name) => !without.includes(name));
  const passed = checks.length - unchecked.length - failed;
  console.log(`\n${passed} checks passed, ${failed} failed. Not checked: ${unchecked.join(", ") || "none"}.`);
  if (missing.length > 0)
    console.log(`To accept that: ${missing.map((name) => `--without ${name}`).join(" ")}`);
  console.log(
    "Provenance is not checked: only the workflow can make it. docs/releasing.md says how users verify it.",
  );
  return failed === 0 && missing.length === 0;
}

try {
  if (!both && !values.make && !values.check)
    throw new Error(
      "Only the workflow Release publishes, because the provenance is about a workflow: Actions > Release > Run workflow.\n" +
        "To make and check everything that it publishes, run: npm run release -- --dry-run",
    );
  if (both || values.make) await makeRelease(values.version, (line) => say("made", line));
  if ((both || values.check) && !(await checkAll())) process.exitCode = 1;
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
