import { type SpawnSyncOptionsWithStringEncoding, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

/** The repository. */
export const root = join(import.meta.dirname, "../..");

/** Where a release is made. */
export const releaseFolder = join(root, "release");

/** What checks download and may keep for the next time. */
export const cacheFolder = join(root, "node_modules/.cache/hunkwise-release");

/** Something that a check needs is missing here; the message says what. */
export class CannotCheck extends Error {}

/** The environment of a user: this Node first, and nothing that `npm run` sets for its scripts. */
export const plainEnvironment: Record<string, string | undefined> = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|INIT_CWD$)/i.test(name))),
  PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
};

/**
 * Runs a program to its end, and returns its output. Throws with all that it wrote if it fails, and `CannotCheck` if it is not installed
 * or says so with 77.
 *
 * @param expected its exit code
 */
export function run(
  command: string,
  args: readonly string[],
  { expected = 0, ...options }: Partial<SpawnSyncOptionsWithStringEncoding> & { expected?: number } = {},
): string {
  const env = { ...plainEnvironment, ...options.env };
  const defaults = { cwd: root, encoding: "utf8", maxBuffer: 2 ** 30 } as const;
  const { status, stdout, stderr, error } = spawnSync(command, args, { ...defaults, ...options, env });
  if (error && "code" in error && error.code === "ENOENT")
    throw new CannotCheck(`${command} is not installed`);
  if (error) throw error;
  if (status !== expected)
    throw new Error(`${command} ${args.join(" ")}: exit code ${status}\n${stdout}${stderr}`);
  return stdout;
}

const python = join(cacheFolder, "python");

let hasPython = false;

/** Makes the Python programs of requirements.txt available. @returns the path of one of them */
export function pythonProgram(name: string): string {
  const program = join(python, "bin", name);
  if (hasPython) return program;
  mkdirSync(cacheFolder, { recursive: true });
  run("python3", ["-m", "venv", python]);
  const wanted = join(import.meta.dirname, "requirements.txt");
  run(join(python, "bin/pip"), [
    "install",
    "--quiet",
    "--disable-pip-version-check",
    "--requirement",
    wanted,
  ]);
  hasPython = true;
  return program;
}
