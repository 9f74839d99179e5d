import { once } from "node:events";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { Command } from "@commander-js/extra-typings";
import { distance } from "fastest-levenshtein";
import { ModelAbsent } from "../../agent/llm/model.ts";
import {
  abilityOf,
  type ModelProbe,
  openKnownModels,
  probeModel,
  protocolFor,
  windowTooSmall,
} from "../../agent/llm/probe.ts";
import type { Env, InspectedEnv, ModelEnv } from "../../config/env.ts";
import { cacheFolder } from "../../config/folders.ts";
import { programPath } from "../../config/process-env.ts";
import { inspectServerEnv } from "../../config/server-env.ts";
import { leastContextTokens } from "../../config/variables.ts";
import { AppError, errorLine } from "../../core/errors.ts";
import { thousands } from "../../core/text/count.ts";
import { canFindByMeaning } from "../../repo/index/vectors.ts";
import { duration } from "../../report/outcome.ts";
import { createStyle, plainLine, type Style, WIDEST, wrap } from "../../report/terminal-style.ts";
import { type CommandContext, type CommandIo, exitCodes, explained } from "../command.ts";
import { createEmbedder, createModel, keyOf, toolsOfReviews } from "../create-model.ts";
import { wantsColor, write } from "../output.ts";
import { dangerOf, requireRipgrep, requireTempFolder, tryDataFolder } from "../require-workable.ts";
import { useProxy } from "../use-proxy.ts";

export const doctor = (io: CommandContext) =>
  explained(new Command("doctor"), {
    text: [
      "Checks Node, git, ripgrep, the parsers, the environment, the data folder and its database, the App's credentials, the models, the " +
        "sandbox for commands, and whether findings can be proven. Sends each model one to three requests, which cost a fraction of a cent.",
      "Exit code: 0 no check failed, 1 at least one check failed.",
    ],
    examples: [["show what works, what is missing, and what to do", "hunkwise doctor"]],
  }).action(async () => {
    io.exitCode = await runDoctor(io);
  });

/** The result of a check. */
interface Diagnosis {
  state: "ok" | "warn" | "fail";
  says: string;
  /** The remedy; null if there is no problem. */
  remedy: string | null;
}

const ok = (says: string): Diagnosis => ({ state: "ok", says, remedy: null });
const warn = (says: string, remedy: string): Diagnosis => ({ state: "warn", says, remedy });
const fail = (error: unknown): Diagnosis =>
  error instanceof AppError
    ? { state: "fail", says: error.message, remedy: error.remedy ?? null }
    : { state: "fail", says: errorLine(error), remedy: null };

const NAME_WIDTH = 13;
const LEAD = 6;

async function runDoctor(io: CommandIo): Promise<number> {
  const style = createStyle(wantsColor(io.stdout), Math.min(io.stdout.columns || WIDEST, WIDEST));
  const environment = inspectServerEnv();
  if (!concerns(environment, network)) useProxy(environment.env);
  let failed = false;
  for await (const { name, ...diagnosis } of diagnoses(environment, io.signal)) {
    failed ||= diagnosis.state === "fail";
    await write(io.stdout, row(name, diagnosis, style));
  }
  return failed ? exitCodes.found : exitCodes.clean;
}

function row(name: string, { state, says, remedy }: Diagnosis, style: Style): string {
  const paint = { ok: style.added, warn: style.alarm, fail: style.removed }[state];
  const width = style.width - LEAD - NAME_WIDTH;
  const indent = " ".repeat(LEAD + NAME_WIDTH);
  const [first = "", ...rest] = wrap(plainLine(says), width);
  const todo = remedy === null ? [] : wrap(plainLine(remedy), width);
  const lines = [
    paint(state.padEnd(LEAD)) + name.padEnd(NAME_WIDTH) + first,
    ...rest.map((line) => indent + line),
    ...todo.map((line) => indent + style.bold(line)),
  ];
  return `${lines.join("\n")}\n`;
}

interface DoctorCheck {
  name: string;
  run(environment: InspectedEnv, signal: AbortSignal): Promise<Diagnosis | readonly Diagnosis[]>;
}

/** Variables by topic. */
const network = /^(HTTPS?_PROXY|NO_PROXY|NODE_EXTRA_CA_CERTS)$/;
const data = /^HUNKWISE_DATA_DIR$/;
const database = /^(DATABASE_URL|HUNKWISE_DATA_DIR)$/;
const github = /^(APP_ID|PRIVATE_KEY|PRIVATE_KEY_PATH|WEBHOOK_SECRET|GHE_.*|HUNKWISE_DATA_DIR)$/;
const model =
  /^(AZURE_)?OPENAI_|^ANTHROPIC_|^HUNKWISE_(MODEL|VERIFY_MODEL|FALLBACK_.*|PROTOCOL|REASONING_EFFORT|CONTEXT_TOKENS|PRICES)$/;
const vectors = /^(AZURE_)?OPENAI_|^HUNKWISE_EMBEDDING_/;
const sandbox = /^HUNKWISE_SANDBOX_/;
const proofs = /^HUNKWISE_PROVE_/;

const concerns = ({ faults }: InspectedEnv, ...about: readonly RegExp[]) =>
  faults.find(({ variable }) => about.some((pattern) => pattern.test(variable)));

/** A check that is skipped, with a message, if one of its variables is invalid. */
const needsEnv =
  (
    check: (env: Env, signal: AbortSignal) => Promise<Diagnosis>,
    ...about: readonly RegExp[]
  ): DoctorCheck["run"] =>
  async (environment, signal) => {
    const fault = concerns(environment, ...about);
    if (fault)
      return { state: "warn", says: `not checked, because ${fault.variable} is invalid`, remedy: null };
    return check(environment.env, signal).catch(fail);
  };

async function checkEnvironment({ env, faults }: InspectedEnv): Promise<readonly Diagnosis[]> {
  const notices = env.notices.map((notice) => warn(notice, "Correct it in the environment or in .env."));
  const all = [...faults.map(fail), ...notices];
  return all.length > 0 ? all : [ok("read")];
}

async function checkGit(): Promise<Diagnosis> {
  const { requireGit } = await import("../../repo/git/run-git.ts");
  const { path, version } = await requireGit({ searchPath: programPath() });
  return ok(`${version} at ${path}`);
}

async function checkRipgrep(signal: AbortSignal): Promise<Diagnosis> {
  await requireTempFolder();
  await requireRipgrep(signal);
  return ok("searches");
}

/** Without a parser, reviews still work, but know less about the code around a change. */
async function checkParsers(): Promise<Diagnosis> {
  const { languagesWithoutParser, loadAstGrep } = await import("../../repo/code/languages.ts");
  const missing = languagesWithoutParser();
  await loadAstGrep();
  if (missing.length === 0) return ok("all languages");
  return warn(
    `none for ${process.platform}-${process.arch} for ${missing.join(", ")}: these are read by their layout, and no rules check them`,
    "Run Hunkwise on Linux or macOS, on x64 or arm64, or on Windows on x64.",
  );
}

async function checkDataFolder({ dataDir }: Env): Promise<Diagnosis> {
  const state = await tryDataFolder(dataDir);
  const danger = await dangerOf(dataDir);
  if (danger) return warn(`${dataDir} ${danger.says}`, danger.remedy);
  return ok(state === "there" ? dataDir : `${dataDir}, will be created at the first start`);
}

/** Checks an existing database and creates none. */
async function checkDatabase(env: Env): Promise<Diagnosis> {
  const { databaseUrl, dataDir: dataFolder } = env;
  let where = "";
  if (databaseUrl !== null) {
    const { inspectPostgres } = await import("../../server/queue/postgres-database.ts");
    const { version, isSetUp, mayCreate } = await inspectPostgres(databaseUrl);
    where = `Postgres ${version}: `;
    if (!isSetUp && !mayCreate)
      throw new AppError(
        "database_unreachable",
        `Postgres ${version} does not let this user create a schema`,
        {
          remedy: "Grant CREATE on the database to the user in DATABASE_URL.",
        },
      );
    if (!isSetUp) return ok(`${where}set up at the first start`);
  } else if (!(await stat(join(dataFolder, "queue.db")).catch(() => null))) {
    return ok("will be created at the first start");
  }
  const { openStores } = await import("../../server/queue/stores.ts");
  const { queue } = await openStores({ databaseUrl, dataFolder });
  try {
    await queue.check();
    const { jobs, oldestWaitingMs } = await queue.stats();
    const counts = Object.entries(jobs).map(([state, count]) => `${count} ${state}`);
    const age =
      oldestWaitingMs === null ? "" : `; the oldest has been waiting for ${duration(oldestWaitingMs)}`;
    return ok(`${where}${counts.join(", ")}${age}`);
  } finally {
    await queue.close();
  }
}

async function checkGitHub(env: Env): Promise<Diagnosis> {
  if (env.app === null) {
    return warn(
      "no App credentials, which only a server needs",
      "To have pull requests reviewed, run `hunkwise serve` and open its page to create the App.",
    );
  }
  const { createProbot, appIdentity } = await import("../../server/webhooks/app-auth.ts");
  const { createLogger } = await import("../../core/logger.ts");
  const { slug } = await appIdentity(createProbot(env.app, env.github, createLogger("silent")))();
  return ok(`${env.github.host} knows the App ${slug}`);
}

/** Probes each model of the environment once, and says which protocol will be used. Rejects for a bad address. */
export async function checkModel(env: Env, signal: AbortSignal): Promise<Diagnosis> {
  if (env.model === null) {
    return warn(
      "none: reviews use only the built-in analyzers",
      "Set OPENAI_API_KEY, ANTHROPIC_API_KEY, or OPENAI_BASE_URL and HUNKWISE_MODEL.",
    );
  }
  const { verify, fallback } = env.model;
  const diagnoses = [await check({ ...env, model: env.model }, "HUNKWISE_MODEL", signal)];
  for (const [model, says, prefix] of [
    [verify, "verification", "HUNKWISE_VERIFY"],
    [fallback, "fallback", "HUNKWISE_FALLBACK"],
  ] as const) {
    if (!model) continue;
    const found = await check({ ...env, model }, `${prefix}_MODEL`, signal);
    diagnoses.push({ ...found, says: `${says}: ${found.says}`, remedy: remedyOf(prefix, found.remedy) });
  }
  const worst = diagnoses.find(({ state }) => state === "fail") ?? diagnoses[0];
  return { state: "ok", remedy: null, ...worst, says: diagnoses.map(({ says }) => says).join("; ") };
}

async function lookForSandbox({ sandbox: { readable, hidden } }: Env, signal: AbortSignal) {
  const { findSandbox } = await import("../../sandbox/find-sandbox.ts");
  return findSandbox({ searchPath: programPath(), readable, hidden, signal });
}

/** Only fixes run commands, and they also work without. */
async function checkSandbox(env: Env, signal: AbortSignal) {
  const { readable, memoryMb } = env.sandbox;
  const found = await lookForSandbox(env, signal);
  if (!found.sandbox) return warn(`none: fixes run no commands, because ${found.why}`, found.remedy);
  const folders = readable.length === 0 ? "" : `; they can read /usr and ${readable.join(", ")}`;
  return ok(`commands run in bubblewrap with ${memoryMb} MB${folders}`);
}

/** Which kind of worker this is for proofs of findings. Reviews also work without. */
async function checkProofs(env: Env, signal: AbortSignal) {
  const { memoryMb, registries } = env.sandbox;
  const found = await lookForSandbox(env, signal);
  if (!found.sandbox)
    return warn("none: this machine runs no tests of findings, because it has no sandbox", found.remedy);
  const { LEAST_NODE_MB: least } = await import("../../sandbox/bubblewrap.ts");
  if (memoryMb < least)
    return warn(
      `tests of JavaScript cannot run: Node needs ${least} MB, and a sandbox has ${memoryMb}`,
      `Set HUNKWISE_SANDBOX_MEMORY_MB to ${least} or more.`,
    );
  const reached = registries.length === 0 ? "no network" : registries.join(", ");
  return ok(`tests of findings run in the sandbox; \`prove.prepare\` reaches ${reached}`);
}

/** Runs every check in turn. Rejects when the signal fires. */
async function* diagnoses(
  environment: InspectedEnv,
  signal: AbortSignal,
): AsyncGenerator<Diagnosis & { name: string }> {
  // A check that waits for a server may not react to the signal.
  const stopped = once(signal, "abort");
  for (const { name, run } of checks) {
    const found = await Promise.race([run(environment, signal), stopped]);
    signal.throwIfAborted();
    for (const diagnosis of [found].flat() as Diagnosis[]) yield { name, ...diagnosis };
  }
}

/** Runs every check, for a page. */
export async function checkAll(signal: AbortSignal) {
  const all: (Diagnosis & { name: string })[] = [];
  for await (const diagnosis of diagnoses(inspectServerEnv(), signal)) all.push(diagnosis);
  return all;
}

/** Every check, in the order of the table. None of them rejects. */
export const checks: readonly DoctorCheck[] = [
  { name: "Node", run: async () => ok(process.versions.node) },
  { name: "git", run: () => checkGit().catch(fail) },
  { name: "ripgrep", run: (_, signal) => checkRipgrep(signal).catch(fail) },
  { name: "parsers", run: () => checkParsers().catch(fail) },
  { name: "environment", run: checkEnvironment },
  { name: "data folder", run: needsEnv(checkDataFolder, data) },
  { name: "database", run: needsEnv(checkDatabase, database) },
  { name: "GitHub", run: needsEnv(checkGitHub, github, network) },
  { name: "model", run: needsEnv(checkModel, model, network) },
  { name: "vectors", run: needsEnv(checkEmbedding, vectors, network) },
  { name: "sandbox", run: needsEnv(checkSandbox, sandbox) },
  { name: "proofs", run: needsEnv(checkProofs, sandbox, proofs) },
];

/** Maximum model names shown; a provider may have hundreds. */
const MOST_NAMES = 8;

/** The most similar names first. The wrong name itself may be listed but refused. */
function oneOf(listed: readonly string[] | null, wrong: string): string {
  if (listed === null) return "a model of this endpoint; the endpoint does not list its models";
  const models = listed.filter((name) => name !== wrong);
  if (models.length === 0) return "another model; this endpoint lists no others";
  const near = models.toSorted((a, b) => distance(a, wrong) - distance(b, wrong)).slice(0, MOST_NAMES);
  const more = models.length > near.length ? ` and ${models.length - near.length} more` : "";
  return `a model of this endpoint: ${near.join(", ")}${more}`;
}

type ModeledEnv = Env & { model: ModelEnv };

/** @param variable the variable that names the model */
async function check(env: ModeledEnv, variable: string, signal: AbortSignal): Promise<Diagnosis> {
  const model = await createModel(env.model, env.pricesFile);
  const probe = await probeModel(model, signal, { tools: await toolsOfReviews() });
  if (probe.error instanceof ModelAbsent) {
    return { ...fail(probe.error), remedy: `Set ${variable} to ${oneOf(probe.models, model.name)}.` };
  }
  if (probe.error) return fail(probe.error);
  await keep(env, probe);
  return diagnosed(env.model, probe);
}

/** Errors name the variables of the reviewing model. */
const remedyOf = (prefix: string, remedy: string | null) =>
  remedy !== null && /\b(?:OPENAI|AZURE|ANTHROPIC)_|\bHUNKWISE_MODEL\b/.test(remedy)
    ? `Check ${prefix}_MODEL, ${prefix}_BASE_URL and ${prefix}_API_KEY, or unset them.`
    : remedy;

function diagnosed({ name, ...env }: ModelEnv, probe: ModelProbe): Diagnosis {
  const reported = env.contextIsConfigured ? null : probe.contextTokens;
  const context = reported ?? env.contextTokens;
  const guessed = env.contextIsConfigured ? "as configured" : "assumed";
  const source = reported === null ? guessed : "as reported by its endpoint";
  const best = protocolFor(abilityOf(probe));
  const protocol = env.protocol === "auto" ? best : env.protocol;
  const facts = `${name} answers in ${duration(probe.milliseconds)}, context ${thousands(context)} tokens ${source}, ${abilities(probe)}`;
  if (env.protocol === "auto" && reported !== null && reported < leastContextTokens)
    return fail(windowTooSmall(name, reported, leastContextTokens));
  if (protocol === "native" && !(probe.callsTools && probe.keepsSchema)) {
    return { state: "fail", says: facts, remedy: remedyFor(best) };
  }
  return ok(`${facts}; protocol ${protocol}`);
}

function abilities({ callsTools, keepsSchema, callsInParallel, writesJson, avoids }: ModelProbe): string {
  const plain = avoids.includes("rich_schemas") ? ", described by plain schemas" : "";
  if (callsTools && keepsSchema) return `calls tools${plain}${callsInParallel ? ", several at a time" : ""}`;
  const not = callsTools ? "does not follow the schema of a tool" : "does not call tools";
  return `${writesJson ? "writes calls as JSON," : ""} but ${not}`.trim();
}

const remedyFor = (best: string) =>
  best === "native"
    ? "Choose a model that supports tool calls, or enable them in the server (vLLM: --enable-auto-tool-choice)."
    : `Set HUNKWISE_PROTOCOL to auto or to ${best}.`;

/** Stores the result, so that a repaired server is not treated as before. Creates no folder. */
async function keep({ dataDir, model }: ModeledEnv, probe: ModelProbe): Promise<void> {
  for (const folder of [dataDir, cacheFolder()]) {
    const there = folder === null ? null : await stat(folder).catch(() => null);
    if (there?.isDirectory()) await openKnownModels(folder).remember(keyOf(model), abilityOf(probe));
  }
}

const SAMPLE = "export function add(a: number, b: number) { return a + b; }";

/** Asks the embedding model for the vector of a line of code, once. Rejects for a bad address. */
export async function checkEmbedding(
  { embedding: env }: Pick<Env, "embedding">,
  signal: AbortSignal,
): Promise<Diagnosis> {
  if (env === null) return ok("none: the knowledge graph searches only by words");
  if (!canFindByMeaning())
    return warn(
      `${env.name} is not used: sqlite-vec is not available for this machine, so the graph searches only by words`,
      "Install Hunkwise with its optional dependencies, or unset HUNKWISE_EMBEDDING_MODEL.",
    );
  const embedder = await createEmbedder(env, { maxRetries: 0 });
  const start = performance.now();
  try {
    const [vector] = (await embedder.embed([SAMPLE], signal)).vectors;
    const took = duration(performance.now() - start);
    return ok(`${env.name} makes vectors of ${thousands(vector?.length ?? 0)} numbers, in ${took}`);
  } catch (error) {
    signal.throwIfAborted();
    return fail(error);
  }
}
