import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { Option } from "@commander-js/extra-typings";
import { z } from "zod";
import type { TestPlaceOrder } from "../../border/test-place.ts";
import { type LocalEnv, readLocalEnv } from "../../config/env.ts";
import { withOverrides } from "../../config/overrides.ts";
import { programPath } from "../../config/process-env.ts";
import { AppError, errorLine } from "../../core/errors.ts";
import { Finding } from "../../core/finding.ts";
import { count } from "../../core/text/count.ts";
import { triedWords, whyNotApplied } from "../../report/outcome.ts";
import { plainLine } from "../../report/terminal-style.ts";
import type { CommittedFix } from "../../server/jobs/commands/commit-fix.ts";
import { type FixInput, FixResult, type FixTarget, Repair, TriedOut } from "../../tasks/fix/fix-input.ts";
import { type ProgressEvent, ReviewResult } from "../../tasks/shapes/review-result.ts";
import {
  type CommandContext,
  type CommandIo,
  exitCodes,
  explained,
  type OptionsOf,
  optionText,
  rangeCommand,
} from "../command.ts";
import { write } from "../output.ts";
import { createProgress } from "../progress.ts";
import { localRunIds, readRunFile, runPath } from "../run-record.ts";
import { useProxy } from "../use-proxy.ts";

/** The output of `fix --format json`. The shape is a contract: minor versions only add fields. */
export const FixJson = z.strictObject({
  head_sha: z.string(),
  /** `patch`: there is one. `none`: nothing was repaired. `refused`: the repair contains edits that a fix may not make. */
  outcome: z.enum(["patch", "none", "refused"]),
  /** For `git apply`. */
  patch: z.string().nullable(),
  /** Description of the edits, written by the model. */
  summary: z.string(),
  findings: z.array(
    Repair.omit({ check: true }).extend({
      path: z.string(),
      title: z.string(),
      second_look: Repair.shape.check,
    }),
  ),
  tried_out: TriedOut,
  /** Why it is refused. */
  refusals: z.array(z.strictObject({ path: z.string().nullable(), reason: z.string() })),
  /** Changes that the model tried and that were refused. */
  kept_from: FixResult.shape.refused,
  ...FixResult.pick({ model: true, stop_reason: true, usage: true }).shape,
});
export type FixJson = z.infer<typeof FixJson>;

export interface JudgedFix {
  fix: FixResult;
  targets: readonly FixTarget[];
  head: string;
  made: CommittedFix;
  /** Null if there is none to apply. */
  patch: string | null;
}

const outcomes = { none: "none", refused: "refused", committed: "patch" } as const;

export function toFixJson({ fix, targets, head, made, patch }: JudgedFix): FixJson {
  const { summary, tried_out, refused: kept_from, model, stop_reason, usage } = fix;
  const refusals = made.kind === "refused" ? made.refusals : [];
  const findings = fix.repairs.map(({ check: second_look, ...repair }) => {
    const { path, title } = reportedTarget(targets, repair.id);
    return { ...repair, path, title, second_look };
  });
  return {
    head_sha: head,
    outcome: outcomes[made.kind],
    patch,
    summary,
    findings,
    tried_out,
    refusals: refusals.map(({ path, reason }) => ({ path, reason })),
    kept_from,
    model,
    stop_reason,
    usage,
  };
}

/** The same as lines for the user, without the patch. Untrusted text. */
export function fixLines({ fix, targets, made }: JudgedFix): string[] {
  const whyNone =
    fix.edits.length === 0 ? "Nothing was repaired." : `There is no patch: ${whyNotApplied(fix)}.`;
  return [
    ...fix.repairs.map((repair) => repairLine(repair, targets)),
    ...(fix.edits.length > 0 ? [triedWords(fix.tried_out, (text) => `'${text}'`)] : []),
    ...fix.refused.map((one) => `the model may not change ${one.path}: ${one.reason}`),
    ...(made.kind === "refused" ? made.refusals : []).map(
      ({ path, reason }) => `refused: ${path === null ? "" : `${path}: `}${reason}`,
    ),
    ...(made.kind === "none" ? [whyNone] : []),
  ];
}

const testStates = { passes: "passes now", fails: "fails", not_run: "not added" };

function repairLine({ id, repaired, note, check, test }: Repair, targets: readonly FixTarget[]): string {
  const how = repaired ? "repaired" : "not repaired";
  const { path, line, title } = reportedTarget(targets, id);
  const place = line === null ? path : `${path}:${line}`;
  const looked = check === null ? "" : ` (second look: ${check.state}: ${check.reason})`;
  const tested = test ? ` (its test: ${testStates[test.state]}${test.reason && `: ${test.reason}`})` : "";
  return `${how}: ${place} ${title}: ${note || "the model stopped without a result"}${looked}${tested}`;
}

const reportedTarget = (targets: readonly FixTarget[], id: string) =>
  targets.find((target) => target.id === id) ?? { path: "", line: null, title: id };

const declare = () =>
  explained(rangeCommand("fix"), {
    text: [
      "A model repairs findings of a review, in a process that cannot write files. The repair is verified and " +
        "printed as a patch; git apply writes it to the repository. If bubblewrap is installed, the " +
        "model tests the repair with the commands (test, lint, build) in the base's .github/hunkwise.yml.",
      "Exit code: 0 a patch was printed; 1 nothing was repaired, or the repair contains a change that a fix may not make; 2 usage or failure.",
    ],
    examples: [
      [
        "review, then repair the findings (use ';' and not '&&', because a review with findings exits with 1)",
        "hunkwise review; hunkwise fix | git apply --allow-empty",
      ],
      ["print the repair of one finding", "hunkwise fix --finding 3f2a9c0d1e5b --base main"],
    ],
  })
    .option("--finding <ID>", "the finding to repair, or 'all'", optionText, "all")
    .addOption(
      new Option(
        "--format <FORMAT>",
        "patch, or json with the patch, the results of the commands and of the second look",
      )
        .choices(["patch", "json"])
        .default("patch"),
    )
    .option(
      "--from <FILE>",
      "the report with the finding, printed by review --format json; default: the last review on record",
      optionText,
    )
    .option(
      "--with-test",
      "the tests that show the findings (review --prove) must pass, and are a part of the patch",
    )
    .option("--no-record", "leave no record of the run (see hunkwise runs --help)");

export const fix = (io: CommandContext) =>
  declare().action(async (values) => {
    io.exitCode = await runFix(values, io);
  });

/** The author of the temporary commit that becomes the patch. */
const author = { name: "Hunkwise", email: "hunkwise@localhost" };

/** Repairs findings of a local range and prints the patch. Resolves to the exit code. */
async function runFix(values: OptionsOf<typeof declare>, io: CommandIo): Promise<number> {
  const { openRange, loadLocalConfig } = await import("../open-range.ts");
  const { privacyOf } = await import("../../agent/tools/paths.ts");
  const { connectModels } = await import("../review-range.ts");
  const { createCommandSandbox } = await import("../../border/test-place.ts");
  const { eachRole, factsOf } = await import("../../agent/llm/model.ts");
  const { limitsOf } = await import("../../tasks/shapes/review-input.ts");
  const { runTask } = await import("../../border/run-task.ts");
  const { fixTask } = await import("../../tasks/fix/fix-input.ts");
  const { onRecord, openRunRecord } = await import("../run-record.ts");
  const { commitFix, patchTo } = await import("../../server/jobs/commands/commit-fix.ts");
  const env = readLocalEnv();
  useProxy(env);
  using progress = createProgress(io.stderr);
  await using range = await openRange({ ...values, signal: io.signal });
  const { config } = await loadLocalConfig(range.workspace);
  const isPrivate = await privacyOf(range.workspace, config.paths.private);
  const head = range.place.shas.head;
  const withTest = values.withTest === true;
  const query = { id: values.finding, file: values.from, folder: env.runsFolder, head, withTest };
  const targets = (await findingsToFix(query)).filter(({ path }) => !isPrivate(path));
  const warn = (text: string) => progress.say(plainLine(`warning: ${text}`));
  const connected = await connectModels(env, { warn, signal: io.signal });
  if (connected === null) throw noModel();
  const findSandbox = createCommandSandbox({
    searchPath: programPath(),
    ...env.sandbox,
    warn: (why, remedy) => warn(`no command can be run: ${why}. ${remedy}`),
  });
  const folder = values.record ? env.runsFolder : undefined;
  const records = { repository: values.repo, folder, keepMs: env.retentionMs };
  const rangeName = `${range.names.base}...${range.names.head}`;
  await using record = await openRunRecord(records, rangeName, { task: "fix", warn });
  let modelFault: string | null = null;
  const onProgress = (event: ProgressEvent) => {
    if (event.type === "model_failed") modelFault ??= event.error;
    progress.handle(event);
  };
  // The option asks for the test to run, whatever the configuration says: as with `review --prove`.
  const enabled = withOverrides(config, { prove: true });
  const tests = { place: range.place, repository: resolve(values.repo), config: enabled };
  const testPlace = withTest ? await requireTestPlace(tests, env, io.signal) : undefined;
  const { models } = connected;
  const input: FixInput = {
    targetBranch: range.names.base,
    pull: null,
    targets: [...targets],
    config,
    limits: limitsOf(config),
    models: eachRole(models, factsOf),
  };
  const { place } = range;
  const repair = async () => {
    const sandbox = await findSandbox(config, io.signal);
    await record.append({ kind: "run", what: "fix", shas: place.shas, input });
    const done = await runTask(fixTask, input, {
      place,
      models,
      sandbox,
      testPlace,
      signal: io.signal,
      onProgress,
      ...(io.startProcess && { started: io.startProcess() }),
      trajectory: record,
    });
    await record.append({ kind: "result", head, base: place.shas.base, result: done });
    return done;
  };
  const fix = await onRecord(record, repair, repairedCount);
  progress.end();
  const named = targets.flatMap(({ path, files }) => [path, ...files]);
  if (modelFault !== null) warn(`The model failed: ${modelFault}`);
  const testOf = (id: string) => targets.find((target) => target.id === id)?.test;
  const unchecked = { fix, place, named, isPrivate, testOf, author, at: 0, signal: io.signal };
  const made = await commitFix(unchecked);
  const patch = made.kind === "committed" ? await patchTo(made.commit, unchecked) : null;
  const judged: JudgedFix = { fix, targets, head, made, patch };
  for (const line of fixLines(judged)) await write(io.stderr, `${plainLine(line)}\n`);
  if (values.format === "json") await write(io.stdout, `${JSON.stringify(toFixJson(judged), null, 2)}\n`);
  else if (patch !== null) await write(io.stdout, patch);
  return patch === null ? exitCodes.found : exitCodes.clean;
}

const repairedCount = ({ repairs }: FixResult) =>
  `${repairs.filter(({ repaired }) => repaired).length} of ${count(repairs.length, "finding")} repaired`;

const noModel = () =>
  new AppError("usage", "no model is configured to repair findings", {
    remedy:
      "Set OPENAI_API_KEY, ANTHROPIC_API_KEY, or OPENAI_BASE_URL and HUNKWISE_MODEL. hunkwise doctor checks them.",
  });

async function requireTestPlace(order: TestPlaceOrder, env: LocalEnv, signal: AbortSignal) {
  const { localTestPlaces } = await import("../test-places.ts");
  const found = await localTestPlaces(env)(order, signal);
  if (!("why" in found)) return found;
  throw new AppError("usage", `no test can run: ${found.why}`, { remedy: "Or leave out --with-test." });
}

interface FindingQuery {
  /** The id of a finding, or "all". */
  id: string;
  /** The output of `review --format json`; if undefined, the records of local reviews are searched. */
  file: string | undefined;
  /** The folder of records; null if none are kept. */
  folder: string | null;
  /** The reviewed commit. */
  head: string;
  /** Whether the repair is to have the tests of the findings. */
  withTest?: boolean;
}

/** The parts of a printed review that a repair needs. Other versions may print other fields as well. */
const Printed = z.object({
  head_sha: z.string().nullable(),
  findings: z.array(
    Finding.pick({
      id: true,
      path: true,
      side: true,
      line: true,
      title: true,
      body: true,
      evidence: true,
      proof: true,
    })
      .extend({ rule: z.string().nullable().default(null) })
      .strip(),
  ),
});
type PrintedFinding = z.infer<typeof Printed>["findings"][number];

/** The findings of a review of this head. Rejects with `usage` if there is no such review or finding. */
export async function findingsToFix(query: FindingQuery): Promise<FixTarget[]> {
  const { id, file, head } = query;
  const found = file === undefined ? await recordedFindings(query) : await printedFindings(file, head);
  const wanted = id === "all" ? found : found.filter((one) => one.id === id);
  if (wanted.length > 0) return query.withTest ? testedTargets(wanted) : wanted.map(targetOf);
  if (found.length === 0)
    throw new AppError("usage", `the review of ${head.slice(0, 12)} has no findings to repair`);
  const listed = found.map((one) => `${one.id} ${one.path}:${one.line} ${one.title}`).join("; ");
  throw new AppError("usage", `there is no finding '${id}' to repair`, {
    remedy: `The findings are: ${listed}`,
  });
}

function testedTargets(wanted: readonly PrintedFinding[]): FixTarget[] {
  if (wanted.some(({ proof }) => testOf(proof)))
    return wanted.map((one) => {
      const test = testOf(one.proof);
      return { ...targetOf(one), ...(test && { test }) };
    });
  throw new AppError("usage", "--with-test is set, but no test shows any of the findings", {
    remedy: "Review with --prove, or leave out --with-test.",
  });
}

const testOf = (proof: PrintedFinding["proof"]) =>
  proof?.kind === "regression" || proof?.kind === "reproduced" ? proof.test : undefined;

async function printedFindings(file: string, head: string): Promise<PrintedFinding[]> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw new AppError("usage", `${file} cannot be read: ${errorLine(error)}`);
  });
  const parsed = Printed.safeParse(await new Response(text).json().catch(() => undefined));
  if (!parsed.success) {
    throw new AppError("usage", `${file} is not the JSON report of a review`, {
      remedy: "Create it with hunkwise review --output FILE.json.",
    });
  }
  const { head_sha, findings } = parsed.data;
  if (head_sha === head) return findings;
  const reviewed = head_sha === null ? "uncommitted changes" : `the commit ${head_sha.slice(0, 12)}`;
  throw new AppError("usage", `the report is about ${reviewed}, but the head is ${head.slice(0, 12)}`, {
    remedy:
      "Commit all changes and run hunkwise review --committed first, or name the reviewed commit with --head.",
  });
}

/** The findings of the newest recorded review of this head. */
async function recordedFindings({ folder, head }: FindingQuery): Promise<PrintedFinding[]> {
  for (const id of folder === null ? [] : await localRunIds(folder)) {
    // Skips a damaged or deleted record; hunkwise runs reports it.
    const { entries } = await readRunFile(runPath(folder ?? "", id)).catch(() => ({ entries: [] }));
    const last = entries.map(({ entry }) => entry).findLast((entry) => entry.kind === "result");
    if (last?.head !== head) continue;
    const { data } = ReviewResult.safeParse(last.result);
    if (data) return data.findings.map(({ finding }) => ({ ...finding, rule: finding.source }));
  }
  throw new AppError("usage", `no review of ${head.slice(0, 12)} is on record`, {
    remedy:
      "Commit all changes, run hunkwise review --committed --output FILE.json, and pass the file with --from.",
  });
}

function targetOf({ id, path, side, line, title, body, evidence, rule }: PrintedFinding): FixTarget {
  const files = [...new Set(evidence.map((one) => one.path).filter((file) => file !== path))];
  const place = { path, side, line, original_line: line };
  return { id, ...place, title, files, symbol: null, source: rule, finding: body, conversation: [] };
}
