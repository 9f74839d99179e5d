import { lstat, readFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { programPath } from "../config/env.ts";
import type { FileProblem } from "../config/merge-nested.ts";
import { isNestedName, rootPaths } from "../config/repo-config.ts";
import { AppError, errorLine } from "../errors.ts";
import { plural } from "../reporters/outcome.ts";
import { plainLine } from "../reporters/terminal-style.ts";
import { type CommandIo, defineCommand, exitCodes } from "./command.ts";
import { didYouMean } from "./nearest.ts";
import { write } from "./output.ts";

export const config = defineCommand({
  positionals: [
    { name: "ACTION", description: "check, schema or show", required: true },
    {
      name: "FILE",
      description:
        "for check: the file; without it the repository's .github/hunkwise.yml and all .hunkwise.yml of its folders",
      required: false,
    },
  ],
  options: {
    repo: {
      type: "string",
      value: "DIR",
      description: "for check and show: any folder of the repository",
      default: ".",
    },
    base: {
      type: "string",
      value: "REF",
      description: "for show: the revision that counts; without it as for review",
    },
    format: {
      type: "string",
      value: "FORMAT",
      description: "for show: how to print",
      choices: ["yaml", "json"],
      default: "yaml",
    },
    nested: { type: "boolean", description: "for schema: the one of .hunkwise.yml in a folder" },
  },
  notes: [
    "check validates files and names line and key of whatever is wrong; schema prints the JSON Schema of a file; show " +
      "prints the values that hold for pull requests into a revision, defaults included.",
    "",
    "Exit code: 0 all is well, 1 check found something wrong, 2 usage or failure.",
  ],
  examples: [
    { command: "hunkwise config check", says: "the files of the repository here" },
    { command: "hunkwise config schema > hunkwise.schema.json", says: "for editors" },
    { command: "hunkwise config show --base main", says: "what holds for pull requests into main" },
  ],
  run: (values, [action, file], io) => runConfig(action, file, values, io),
});

interface ConfigValues {
  repo: string;
  base: string | undefined;
  format: "yaml" | "json";
  nested: boolean;
}

const [usualFile] = rootPaths;
const actions = ["check", "schema", "show"];

/** Checks, describes or shows the repository configuration. Resolves to the exit code. */
async function runConfig(
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
      return check(file, values, io);
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

async function check(named: string | undefined, { repo }: ConfigValues, io: CommandIo): Promise<number> {
  const { problems, valid } =
    named === undefined ? await checkRepository(repo, io.signal) : await checkFile(named, io.signal);
  const { problemLine } = await import("../config/load-config.ts");
  const lines = problems.map((problem) => plainLine(problemLine(problem)));
  await write(io.stdout, `${(problems.length > 0 ? lines : valid).join("\n")}\n`);
  return problems.length > 0 ? exitCodes.found : exitCodes.clean;
}

interface Checked {
  problems: FileProblem[];
  /** What to say where there is no problem. */
  valid: string[];
}

/** A file by its name: a nested one has other keys. */
async function checkFile(file: string, signal: AbortSignal): Promise<Checked> {
  const { parseNestedConfig, parseRepoConfig } = await import("../config/parse-config.ts");
  const text = (await readText(file, signal)) ?? notThere(file);
  const parsed = isNestedName(basename(file)) ? parseNestedConfig(text) : parseRepoConfig(text);
  const problems = parsed.ok ? [] : parsed.problems.map((problem) => ({ file, ...problem }));
  return { problems, valid: [`${file} is valid.`] };
}

/** The file of the repository, and those of its folders. They are named as seen from the current folder. */
async function checkRepository(repo: string, signal: AbortSignal): Promise<Checked> {
  const { checkNested } = await import("../config/load-config.ts");
  const { parseRepoConfig } = await import("../config/parse-config.ts");
  const { requireGit } = await import("../git/run-git.ts");
  const { listWorkingFiles } = await import("../git/range.ts");
  const { path: gitPath } = await requireGit({ searchPath: programPath() });
  const { workTree, paths } = await listWorkingFiles(repo, { gitPath, signal });
  const shown = (file: string) => relative(process.cwd(), join(workTree, file));
  const read = (file: string) => readText(join(workTree, file), signal);
  const root = await rootFile(read);
  const own = root === null ? null : parseRepoConfig(root.text);
  const texts = new Map<string, string | null>();
  for (const file of paths.filter(isNestedName).toSorted()) {
    const stats = await lstat(join(workTree, file)).catch(() => null);
    if (stats === null) continue;
    const text = stats.isFile() ? await read(file) : null;
    if (text !== null || !stats.isFile()) texts.set(file, text);
  }
  const problems: FileProblem[] = [
    ...(own?.ok === false ? own.problems : []).map((problem) => ({
      file: root?.file ?? usualFile,
      ...problem,
    })),
    ...byFile(await checkNested(texts)),
  ];
  const count = plural(texts.size, "nested file");
  return {
    problems: problems.map((problem) => ({ ...problem, file: shown(problem.file) })),
    valid: [
      root === null
        ? `There is no ${usualFile} in ${workTree}: the defaults hold.`
        : `${shown(root.file)} is valid.`,
      ...(texts.size > 0 ? [`${count} ${texts.size === 1 ? "is" : "are"} valid, too.`] : []),
    ],
  };
}

/** File by file, each from its beginning: what is wrong with files and with how they join are found one after the other. */
const byFile = (problems: readonly FileProblem[]) =>
  [...Map.groupBy(problems, ({ file }) => file).values()].flatMap((one) =>
    one.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0)),
  );

async function rootFile(
  read: (file: string) => Promise<string | null>,
): Promise<{ file: string; text: string } | null> {
  for (const file of rootPaths) {
    const text = await read(file);
    if (text !== null) return { file, text };
  }
  return null;
}

/** Null when there is none. */
async function readText(file: string, signal: AbortSignal): Promise<string | null> {
  try {
    return await readFile(file, { encoding: "utf8", signal });
  } catch (error) {
    signal.throwIfAborted();
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw unreadable(errorLine(error), error);
  }
}

function notThere(file: string): never {
  throw unreadable(`there is no file '${file}'`);
}

const unreadable = (why: string, cause?: unknown) =>
  new AppError("usage", `the configuration cannot be read: ${why}`, {
    remedy: "Name a file that exists and that you may read.",
    cause,
  });

async function schema({ nested }: ConfigValues, io: CommandIo): Promise<number> {
  const { nestedConfigSchema, repoConfigSchema } = await import("../config/repo-config.ts");
  const printed = nested ? nestedConfigSchema() : repoConfigSchema();
  await write(io.stdout, `${JSON.stringify(printed, null, 2)}\n`);
  return exitCodes.clean;
}

async function show({ repo, base, format }: ConfigValues, io: CommandIo): Promise<number> {
  const { openRange } = await import("./open-range.ts");
  const { loadLocalConfig } = await import("./local-config.ts");
  await using range = await openRange({ repo, base, head: base ?? "HEAD", signal: io.signal });
  const { config, path } = await loadLocalConfig(range.workspace);
  if (format === "json") {
    await write(io.stdout, `${JSON.stringify(config, null, 2)}\n`);
    return exitCodes.clean;
  }
  const { stringify } = await import("yaml");
  const revision = `${range.names.base} (${range.place.shas.base.slice(0, 12)})`;
  const origin = path === null ? `defaults: there is no ${usualFile}` : path;
  await write(io.stdout, `# ${plainLine(`${origin} at ${revision}`)}\n${stringify(config)}`);
  return exitCodes.clean;
}
