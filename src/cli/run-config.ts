import { readFile } from "node:fs/promises";
import { stringify } from "yaml";
import { z } from "zod";
import { parseRepoConfig } from "../config/load-repo-config.ts";
import { RepoConfig } from "../config/repo-config.ts";
import { AppError, errorLine } from "../errors.ts";
import { plainLine } from "../reporters/terminal-style.ts";
import { type CommandIo, exitCodes } from "./command.ts";
import { loadLocalConfig, problemLine } from "./local-config.ts";
import { didYouMean } from "./nearest.ts";
import { openRange } from "./open-range.ts";
import { write } from "./output.ts";

/** The options of the command, as its help describes them. */
export interface ConfigValues {
  repo: string;
  base: string | undefined;
  format: "yaml" | "json";
}

const usualFile = ".github/hunkwise.yml";
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
      return schema(io);
    case "show":
      return show(values, io);
    default:
      throw new AppError("usage", `unknown action '${action}'`, {
        remedy: didYouMean(action ?? "", actions) || `It is one of ${actions.join(", ")}.`,
      });
  }
}

async function check(named: string | undefined, io: CommandIo): Promise<number> {
  const file = named ?? usualFile;
  const text = await readText(file, named === undefined);
  if (text === null) {
    await write(io.stdout, `There is no ${usualFile} here: the defaults hold.\n`);
    return exitCodes.clean;
  }
  const { problems } = parseRepoConfig(text);
  const lines = problems.map((problem) => plainLine(problemLine(file, problem)));
  await write(io.stdout, `${lines.join("\n") || `${file} is valid.`}\n`);
  return problems.length > 0 ? exitCodes.found : exitCodes.clean;
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

async function schema(io: CommandIo): Promise<number> {
  await write(io.stdout, `${JSON.stringify(z.toJSONSchema(RepoConfig, { io: "input" }), null, 2)}\n`);
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
