import { programPath, readLocalEnv } from "../config/env.ts";
import { AppError } from "../errors.ts";
import type { Models } from "../llm/model.ts";
import type { FindFixSandbox } from "../process/fix-sandbox.ts";
import { plural } from "../reporters/outcome.ts";
import { plainLine } from "../reporters/terminal-style.ts";
import type { FixInput, FixResult, FixTarget } from "../review/fix/fix-input.ts";
import type { ProgressEvent } from "../review/progress.ts";
import { type CommandIo, defineCommand, exitCodes } from "./command.ts";
import type { JudgedFix } from "./fix-report.ts";
import type { LocalConfig } from "./local-config.ts";
import type { OpenRange } from "./open-range.ts";
import { write } from "./output.ts";
import { createProgress } from "./progress.ts";
import { rangeOptions } from "./range-options.ts";
import type { RunRecord } from "./run-record.ts";
import { useProxy } from "./use-proxy.ts";

const options = {
  ...rangeOptions,
  finding: {
    type: "string",
    value: "ID",
    description: "the finding to repair, or 'all'",
    default: "all",
  },
  format: {
    type: "string",
    value: "FORMAT",
    description: "patch, or json with the patch, how it was tried out and what a second look says",
    choices: ["patch", "json"],
    default: "patch",
  },
  from: {
    type: "string",
    value: "FILE",
    description:
      "where the finding is: what review --format json printed; without it the last review on record",
  },
  "no-record": { type: "boolean", description: "leave no record of the run (see hunkwise runs --help)" },
} as const;

export const fix = defineCommand({
  positionals: [],
  options,
  notes: [
    "Has a model repair findings of a review, in a process that can write nothing, looks at the repair a second time, and " +
      "prints it as a patch. Nothing is written to the repository: git apply does that. Where bubblewrap is installed, the " +
      "model tries it out with the commands (test, lint, build) that the base's .github/hunkwise.yml names.",
    "",
    "Exit code: 0 a patch was printed; 1 nothing was repaired, or the repair does what a fix may not do; 2 usage or failure.",
  ],
  examples: [
    {
      command: "hunkwise review; hunkwise fix | git apply --allow-empty",
      says: "reviews and repairs what was found (';' and not '&&': a review with findings exits with 1)",
    },
    { command: "hunkwise fix --finding 3f2a9c0d1e5b --base main", says: "shows the repair of one finding" },
  ],
  run: (values, _, io) => runFix(values, io),
});

interface FixValues {
  repo: string;
  base: string | undefined;
  head: string;
  finding: string;
  format: "patch" | "json";
  from: string | undefined;
  "no-record": boolean;
}

/** Whose the commit is of which the patch is made; nobody sees it. */
const author = { name: "Hunkwise", email: "hunkwise@localhost" };

/** Repairs findings of a local range and prints the patch. Resolves to the exit code. */
async function runFix(values: FixValues, io: CommandIo): Promise<number> {
  const { openRange } = await import("./open-range.ts");
  const { loadLocalConfig } = await import("./local-config.ts");
  const { privacyOf } = await import("../tools/private-text.ts");
  const { findingsToFix } = await import("./findings-to-fix.ts");
  const { connectModels } = await import("./review-range.ts");
  const { createFixSandbox } = await import("../process/fix-sandbox.ts");
  const { onRecord, openRunRecord } = await import("./run-record.ts");
  const { commitFix, patchTo } = await import("../jobs/commands/fix/commit-fix.ts");
  const { fixLines, toFixJson } = await import("./fix-report.ts");
  const env = readLocalEnv();
  useProxy(env);
  await using range = await openRange({ ...values, signal: io.signal });
  const { config } = await loadLocalConfig(range.workspace);
  const isPrivate = await privacyOf(range.workspace, config.paths.private);
  const head = range.place.shas.head;
  const query = { id: values.finding, file: values.from, folder: env.runsFolder, head };
  const targets = (await findingsToFix(query)).filter(({ path }) => !isPrivate(path));
  const say = (text: string) => write(io.stderr, `${plainLine(text)}\n`);
  const warn = (text: string) => void say(`warning: ${text}`);
  const connected = await connectModels(env, { warn, signal: io.signal });
  if (connected === null) throw noModel();
  const findSandbox = createFixSandbox({
    ...{ searchPath: programPath(), ...env.sandbox },
    warn: (why, remedy) => warn(`no command can be run: ${why}. ${remedy}`),
  });
  const folder = values["no-record"] ? undefined : env.runsFolder;
  const records = { repository: values.repo, folder, keepMs: env.retentionMs };
  await using record = await openRunRecord(records, rangeName(range), { task: "fix", warn });
  let modelFault: string | null = null;
  const onProgress = (event: ProgressEvent) => {
    if (event.type === "model_failed") modelFault ??= event.error;
  };
  const task: Task = { range, config, targets, models: connected.models, findSandbox, record, onProgress };
  const fix = await onRecord(record, () => repair(task, io), repairedCount);
  const named = targets.flatMap(({ path, files }) => [path, ...files]);
  if (modelFault !== null) warn(`The model failed: ${modelFault}`);
  const unchecked = { fix, place: range.place, named, isPrivate, author, at: 0, signal: io.signal };
  const made = await commitFix(unchecked);
  const patch = made.kind === "committed" ? await patchTo(made.commit, unchecked) : null;
  const judged: JudgedFix = { fix, targets, head, made, patch };
  for (const line of fixLines(judged)) await say(line);
  if (values.format === "json") await write(io.stdout, `${JSON.stringify(toFixJson(judged), null, 2)}\n`);
  else if (patch !== null) await write(io.stdout, patch);
  return patch === null ? exitCodes.found : exitCodes.clean;
}

const rangeName = ({ names }: OpenRange) => `${names.base}...${names.head}`;

const repairedCount = ({ repairs }: FixResult) =>
  `${repairs.filter(({ repaired }) => repaired).length} of ${plural(repairs.length, "finding")} repaired`;

const noModel = () =>
  new AppError("usage", "there is no model to repair anything", {
    remedy: "Set OPENAI_API_KEY or OPENAI_BASE_URL; hunkwise doctor checks them.",
  });

interface Task extends Pick<LocalConfig, "config"> {
  range: OpenRange;
  targets: readonly FixTarget[];
  models: Models;
  findSandbox: FindFixSandbox;
  record: RunRecord;
  onProgress(event: ProgressEvent): void;
}

async function repair(
  { range, config, targets, models, findSandbox, record, onProgress }: Task,
  io: CommandIo,
): Promise<FixResult> {
  const { eachRole, factsOf } = await import("../llm/model.ts");
  const { limitsOf } = await import("../review/review-input.ts");
  const { runFixProcess } = await import("../process/run-fix-process.ts");
  const input: FixInput = {
    ...{ targetBranch: range.names.base, pull: null, targets: [...targets], config },
    ...{ limits: limitsOf(config), models: eachRole(models, factsOf) },
  };
  const sandbox = await findSandbox(config, io.signal);
  const { place } = range;
  await record.append({ kind: "run", what: "fix", shas: place.shas, input });
  const progress = createProgress(io.stderr);
  const follow = (event: ProgressEvent) => {
    onProgress(event);
    progress.handle(event);
  };
  try {
    const fix = await runFixProcess({
      ...{ place, input, models, sandbox, signal: io.signal, onProgress: follow },
      ...(io.startProcess && { started: io.startProcess() }),
      trajectory: record,
    });
    const { head, base } = place.shas;
    await record.append({ kind: "result", head, base, result: fix });
    return fix;
  } finally {
    progress.end();
  }
}
