import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { stringify } from "yaml";
import { isNestedName, rootPaths } from "../config/config-files.ts";
import { wholeFile } from "../config/config-problem.ts";
import { nestedConfigSchema, repoConfigSchema } from "../config/json-schema.ts";
import { parseRepoConfig } from "../config/load-repo-config.ts";
import { checkNested } from "../config/nested/check-nested.ts";
import type { FileProblem } from "../config/nested/merge-nested.ts";
import { parseNestedConfig } from "../config/nested/nested-config.ts";
import { AppError, errorLine } from "../errors.ts";
import { plural } from "../reporters/outcome.ts";
import { plainLine } from "../reporters/terminal-style.ts";
import { type CommandIo, exitCodes } from "./command.ts";
import { findNestedFiles } from "./find-nested-files.ts";
import { loadLocalConfig, problemLine } from "./local-config.ts";
import { didYouMean } from "./nearest.ts";
import { openRange } from "./open-range.ts";
import { write } from "./output.ts";

/** The options of the command, as its help describes them. */
export interface ConfigValues {
  repo: string;
  base: string | undefined;
  format: "yaml" | "json";
  nested: boolean;
}

const [usualFile] = rootPaths;
const actions = ["check", "schema", "show"];

/** Checks, describes or shows the repository configuration. Resolves to the exit code. */
export async function runConfig(
  action: string | undefined,
  file: string | undefined,
  values: ConfigValues,
  io: CommandIo,
): Promise<number> {
  if (file !== undefined && action !== "check") {
    throw new AppError("usage", `unexpected argument '${file}'`, { remedy: "Only check takes a file." });
  }
  switch (action) {
    case "check":
      return check(file, io);
    case "schema":
      return schema(values, io);
    case "show":
      return show(values, io);
    default:
      throw new AppError("usage", `unknown action '${action}'`, {
        remedy: didYouMean(action ?? "", actions) || `It is one of ${actions.join(", ")}.`,
      });
  }
}

async function check(named: string | undefined, io: CommandIo): Promise<number> {
  const { problems, valid } = named === undefined ? await checkHere() : await checkFile(named);
  const lines = problems.map((problem) => plainLine(problemLine(problem.file, problem)));
  await write(io.stdout, `${(problems.length > 0 ? lines : valid).join("\n")}\n`);
  return problems.length > 0 ? exitCodes.found : exitCodes.clean;
}

interface Checked {
  problems: FileProblem[];
  /** What to say where there is no problem. */
  valid: string[];
}

/** A file by its name: a nested one has other keys. */
async function checkFile(file: string): Promise<Checked> {
  const text = (await readText(file, false)) ?? "";
  const { problems } = isNestedName(basename(file)) ? parseNestedConfig(text) : parseRepoConfig(text);
  return { problems: problems.map((problem) => ({ file, ...problem })), valid: [`${file} is valid.`] };
}

/** The file of the current folder, and the nested ones below it. */
async function checkHere(): Promise<Checked> {
  const root = await rootFile();
  const own = root === null ? [] : parseRepoConfig(root.text).problems;
  const { files, others } = await findNestedFiles(".");
  const texts = new Map<string, string>();
  for (const file of files) texts.set(file, (await readText(file, false)) ?? "");
  const here = root === null ? `There is no ${usualFile} here: the defaults hold.` : `${root.file} is valid.`;
  const count = plural(texts.size, "nested file");
  return {
    problems: [
      ...own.map((problem) => ({ file: root?.file ?? usualFile, ...problem })),
      ...others.map((file) => ({ file, ...wholeFile("is not a regular file") })),
      ...checkNested(texts),
    ],
    valid: [here, ...(texts.size > 0 ? [`${count} ${texts.size === 1 ? "is" : "are"} valid, too.`] : [])],
  };
}

async function rootFile(): Promise<{ file: string; text: string } | null> {
  for (const file of rootPaths) {
    const text = await readText(file, true);
    if (text !== null) return { file, text };
  }
  return null;
}

/** Null when there is none and that is in order. */
async function readText(file: string, mayLack: boolean): Promise<string | null> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (mayLack && (error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new AppError("usage", `the configuration cannot be read: ${errorLine(error)}`, {
      remedy: "Name a file that exists and that you may read.",
      cause: error,
    });
  }
}

async function schema({ nested }: ConfigValues, io: CommandIo): Promise<number> {
  const printed = nested ? nestedConfigSchema() : repoConfigSchema();
  await write(io.stdout, `${JSON.stringify(printed, null, 2)}\n`);
  return exitCodes.clean;
}

async function show({ repo, base, format }: ConfigValues, io: CommandIo): Promise<number> {
  await using range = await openRange({ repo, base, head: base ?? "HEAD", signal: io.signal });
  const { config, path, notices } = await loadLocalConfig(range.workspace);
  for (const notice of notices) await write(io.stderr, `warning: ${plainLine(notice)}\n`);
  if (format === "json") {
    await write(io.stdout, `${JSON.stringify(config, null, 2)}\n`);
    return exitCodes.clean;
  }
  const revision = `${range.names.base} (${range.place.shas.base.slice(0, 12)})`;
  const origin = path === null ? `defaults: there is no ${usualFile}` : path;
  await write(io.stdout, `# ${plainLine(`${origin} at ${revision}`)}\n${stringify(config)}`);
  return exitCodes.clean;
}
