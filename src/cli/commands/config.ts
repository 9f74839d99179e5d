import { lstat, readFile } from "node:fs/promises";
import { basename, join, relative, resolve, sep } from "node:path";
import { Argument, Command, Option } from "@commander-js/extra-typings";
import type { FileProblem } from "../../config/load-config.ts";
import { programPath } from "../../config/process-env.ts";
import { isConfigName, isNestedName, type RepoConfig, rootPaths } from "../../config/repo-config.ts";
import { AppError, errorLine } from "../../core/errors.ts";
import { count } from "../../core/text/count.ts";
import { plainLine } from "../../report/terminal-style.ts";
import type { RuleFile } from "../../tasks/rules/own/rule-files.ts";
import {
  type CommandContext,
  type CommandIo,
  exitCodes,
  explained,
  type OptionsOf,
  optionText,
} from "../command.ts";
import { write } from "../output.ts";

const declare = () =>
  explained(new Command("config"), {
    text: [
      "check validates files and names the line and key of each problem. If they are valid and a model is configured, it also tries the " +
        "examples of named rules, with one request for each rule. schema prints the JSON Schema of a file; show " +
        "prints the effective values for pull requests into a revision, including defaults, and where each comes from.",
      "Exit code: 0 no problems, 1 check found a problem, 2 usage or failure.",
    ],
    examples: [
      ["check the files of the repository in the current folder", "hunkwise config check"],
      ["create a schema for editors", "hunkwise config schema > hunkwise.schema.json"],
      ["show what applies to pull requests into main", "hunkwise config show --base main"],
      [
        "show it together with the organization's file",
        "hunkwise config show --organization ../.github/.github/hunkwise.yml",
      ],
    ],
  })
    .addArgument(new Argument("<ACTION>", "what to do").choices(["check", "schema", "show"]))
    .argument(
      "[FILE]",
      "for check: the file; default: the repository's .github/hunkwise.yml, every .hunkwise.yml in its folders, and its own rules",
    )
    .option("--repo <DIR>", "for check and show: any folder in the repository", optionText, ".")
    .option(
      "--base <REF>",
      "for show: the revision to read the configuration from; default: as for review",
      optionText,
    )
    .option(
      "--organization <FILE>",
      "for show: a copy of the organization's file, which is in another repository; default: none",
      optionText,
    )
    .addOption(
      new Option("--format <FORMAT>", "for show: the output format")
        .choices(["yaml", "json"])
        .default("yaml"),
    )
    .option("--no-model", "for check: do not try the examples of named rules with the configured model")
    .option("--nested", "for schema: print the schema of a folder's .hunkwise.yml");

type ConfigValues = OptionsOf<typeof declare>;

export const config = (io: CommandContext) =>
  declare().action(async (action, file, values) => {
    if (file !== undefined && action !== "check") {
      throw new AppError("usage", `unexpected argument '${file}'`, { remedy: "Only check takes a file." });
    }
    if (action === "check") io.exitCode = await check(file, values, io);
    else await { schema, show }[action](values, io);
  });

const [usualFile] = rootPaths;
async function check(
  named: string | undefined,
  { repo, model }: ConfigValues,
  io: CommandIo,
): Promise<number> {
  const { problems, valid, root } =
    named === undefined ? await checkRepository(repo, io.signal) : await checkFile(named, io.signal);
  if (problems.length === 0 && root !== null) {
    const { tryExamples } = await import("../try-examples.ts");
    const tried = await tryExamples(root, { hasModel: model }, io);
    problems.push(...tried.problems);
    valid.push(...tried.notes);
  }
  const { problemLine } = await import("../../config/load-config.ts");
  const lines = problems.map((problem) => plainLine(problemLine(problem)));
  await write(io.stdout, `${(problems.length > 0 ? lines : valid).join("\n")}\n`);
  return problems.length > 0 ? exitCodes.found : exitCodes.clean;
}

interface Checked {
  problems: FileProblem[];
  /** The lines to print if there is no problem. */
  valid: string[];
  /** The repository's file, if there is one and it is valid. */
  root: { file: string; config: RepoConfig } | null;
}

/** Checks a file by its name: a nested one has other keys. */
async function checkFile(file: string, signal: AbortSignal): Promise<Checked> {
  const { parseNestedConfig, parseRepoConfig } = await import("../../config/parse-config.ts");
  const { isRuleFile } = await import("../../tasks/rules/own/rule-files.ts");
  const text = await readText(file, signal);
  if (text === null) throw notThere(file);
  if (isRuleFile(resolve(file).split(sep).slice(-4).join("/"))) {
    const { problems } = await problemsOfRules([{ path: file, text }], signal);
    return { problems, valid: [`${file} is valid.`], root: null };
  }
  const own = isNestedName(basename(file)) ? null : parseRepoConfig(text, { isStrict: true });
  const parsed = own ?? parseNestedConfig(text, { isStrict: true });
  return {
    problems: parsed.ok ? [] : parsed.problems.map((problem) => ({ file, ...problem })),
    valid: [`${file} is valid.`],
    root: own?.ok ? { file, config: own.config } : null,
  };
}

/** All problems of files of own rules: each rule is tried in a process of its own, and with its examples. */
async function problemsOfRules(files: readonly RuleFile[], signal: AbortSignal) {
  const { parseRuleFiles } = await import("../../tasks/rules/own/rule-files.ts");
  const { checkRules } = await import("../../tasks/rules/own/rule-run.ts");
  const { startRuleMatcher } = await import("../../border/rule-matcher.ts");
  const { rules, problems } = await parseRuleFiles(files);
  const tried = rules.length === 0 ? [] : await checkRules(rules, startRuleMatcher, signal);
  const all = [...problems, ...tried].map(({ rule, ...problem }): FileProblem => {
    const { line, key } = problem;
    // Without a line, only its id shows which rule it is.
    const named = rule === null || line !== null ? key : `the rule ${rule}${key === null ? "" : `, ${key}`}:`;
    return { ...problem, key: named };
  });
  return { problems: byFile(all), rules: rules.length };
}

/** Checks the file of the repository, and those of its folders. Their names are relative to the current folder. */
async function checkRepository(repo: string, signal: AbortSignal): Promise<Checked> {
  const { checkNested } = await import("../../config/load-config.ts");
  const { parseRepoConfig } = await import("../../config/parse-config.ts");
  const { isRuleFile } = await import("../../tasks/rules/own/rule-files.ts");
  const { requireGit } = await import("../../repo/git/run-git.ts");
  const { listWorkingFiles } = await import("../../repo/git/repository.ts");
  const { path: gitPath } = await requireGit({ searchPath: programPath() });
  const { workTree, paths } = await listWorkingFiles(repo, { gitPath, signal });
  const shown = (file: string) => relative(process.cwd(), join(workTree, file));
  const read = (file: string) => readText(join(workTree, file), signal);
  const roots = await Promise.all(rootPaths.map(async (file) => ({ file, text: await read(file) })));
  const root = roots.find(({ text }) => text !== null);
  const own = root ? parseRepoConfig(root.text ?? "", { isStrict: true }) : null;
  const regular = async (names: readonly string[]) => {
    const texts = new Map<string, string | null>();
    for (const file of names.toSorted()) {
      const stats = await lstat(join(workTree, file)).catch(() => null);
      if (stats === null) continue;
      const text = stats.isFile() ? await read(file) : null;
      if (text !== null || !stats.isFile()) texts.set(file, text);
    }
    return texts;
  };
  const texts = await regular(paths.filter(isConfigName));
  const ruleTexts = await regular(paths.filter(isRuleFile));
  const ruled = await problemsOfRules(
    [...ruleTexts].map(([path, text]) => ({ path, text })),
    signal,
  );
  const problems: FileProblem[] = [
    ...(own?.ok === false ? own.problems : []).map((problem) => ({
      file: root?.file ?? usualFile,
      ...problem,
    })),
    ...byFile(await checkNested(texts)),
    ...ruled.problems,
  ];
  const nested = paths.filter((path) => isNestedName(path) && texts.has(path)).length;
  return {
    problems: problems.map((problem) => ({ ...problem, file: shown(problem.file) })),
    root: root && own?.ok ? { file: shown(root.file), config: own.config } : null,
    valid: [
      root ? `${shown(root.file)} is valid.` : `There is no ${usualFile} in ${workTree}: the defaults apply.`,
      ...(nested > 0 ? [`${count(nested, "nested file")} ${nested === 1 ? "is" : "are"} valid, too.`] : []),
      ...(ruleTexts.size > 0
        ? [`${count(ruled.rules, "own rule")} in ${count(ruleTexts.size, "file")} can run.`]
        : []),
    ],
  };
}

/** Sorted by file and line: problems of single files and of their combination are found separately. */
const byFile = (problems: readonly FileProblem[]) =>
  [...Map.groupBy(problems, ({ file }) => file).values()].flatMap((one) =>
    one.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0)),
  );

/** Null if the file does not exist. */
async function readText(file: string, signal: AbortSignal): Promise<string | null> {
  try {
    return await readFile(file, { encoding: "utf8", signal });
  } catch (error) {
    signal.throwIfAborted();
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw unreadable(errorLine(error), error);
  }
}

const notThere = (file: string) => unreadable(`there is no file '${file}'`);

const unreadable = (why: string, cause?: unknown) =>
  new AppError("usage", `the configuration cannot be read: ${why}`, {
    remedy: "Name a file that exists and that you can read.",
    cause,
  });

async function schema({ nested }: ConfigValues, io: CommandIo): Promise<void> {
  const { nestedConfigSchema, repoConfigSchema } = await import("../../config/repo-config.ts");
  const printed = nested ? nestedConfigSchema() : repoConfigSchema();
  await write(io.stdout, `${JSON.stringify(printed, null, 2)}\n`);
}

async function show({ repo, base, format, organization }: ConfigValues, io: CommandIo): Promise<void> {
  const { openRange, textAtBase } = await import("../open-range.ts");
  const { loadRepoConfig, withNested } = await import("../../config/load-config.ts");
  await using range = await openRange({ repo, base, head: base ?? "HEAD", signal: io.signal });
  const above = organization === undefined ? undefined : await readText(organization, io.signal);
  if (above === null) throw notThere(organization ?? "");
  const loaded = await loadRepoConfig((file) => textAtBase(range.workspace, file), {
    readOrganization: async (file) => (file === usualFile ? above : undefined),
  });
  const config = await withNested(loaded.config, range.workspace);
  if (format === "json") return write(io.stdout, `${JSON.stringify(config, null, 2)}\n`);
  const { annotatedConfig, configHeadline } = await import("../../report/config.ts");
  const revision = `${range.names.base} (${range.place.shas.base.slice(0, 12)})`;
  await write(
    io.stdout,
    `# ${plainLine(configHeadline(loaded, revision))}\n${annotatedConfig(config, loaded)}`,
  );
}
