import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { compiledCodeVariable } from "../../src/border/compile-cache.ts";
import { programEntry } from "./built-program.ts";
import { noHome } from "./no-home.ts";
import { requireSchema } from "./review-schema.ts";

/** The variables of a `.env` file beside package.json, as empty values: a test must never spend a key from it. */
export const unsetVariables: Record<string, string> = Object.fromEntries(
  Object.keys(parseEnv(textOfEnv())).map((name) => [name, ""]),
);

function textOfEnv(): string {
  try {
    return readFileSync(join(import.meta.dirname, "../../.env"), "utf8");
  } catch {
    return "";
  }
}

/** Whatever takes more than 0.3 s begins with this line on stderr. Whether something does depends on the machine. */
const firstProgress = /^0:\d\d · reading the repository\n/m;

/** What a command says on stderr, without the line that says that it works. */
export const withoutFirstProgress = (stderr: string): string => stderr.replace(firstProgress, "");

export interface CliRun {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface CliOptions {
  /** The program's `cli.js`; default: built from the current sources. */
  entry?: string;
  cwd?: string;
  /** Environment variables, undefined for those to leave out; of this process's environment, only PATH and HOME are passed on. */
  env?: Record<string, string | undefined>;
  input?: string;
  /** Called with the process as soon as it runs, to send signals or close its pipes. */
  onStart?: (child: ChildProcess) => void;
}

/** Runs the real command line in a separate process; resolves when it has ended and its pipes are empty. */
export function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliRun> {
  const child = spawn(process.execPath, [options.entry ?? programEntry, ...args], {
    cwd: options.cwd ?? process.cwd(),
    env: {
      ...unsetVariables,
      PATH: process.env.PATH ?? "",
      HOME: noHome,
      LC_ALL: "C.UTF-8",
      // The command line sets this for Node itself, but only after Node has stripped the types of its first files.
      ...compiledCodeVariable,
      ...options.env,
    },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => err.push(chunk));
  child.stdin.on("error", () => {});
  child.stdin.end(options.input ?? "");
  options.onStart?.(child);
  return new Promise((done, fail) => {
    child.on("error", fail);
    child.on("close", (code, signal) => {
      const stdout = Buffer.concat(out).toString("utf8");
      const stderr = withoutFirstProgress(Buffer.concat(err).toString("utf8"));
      try {
        requireSchema(args, stdout);
        done({ code, signal, stdout, stderr });
      } catch (error) {
        fail(error);
      }
    });
  });
}
