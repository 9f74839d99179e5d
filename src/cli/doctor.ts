import { once } from "node:events";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { type Env, type InspectedEnv, programPath } from "../config/env.ts";
import { inspectServerEnv } from "../config/server-env.ts";
import { AppError } from "../errors.ts";
import { duration } from "../reporters/outcome.ts";
import { createStyle, plainLine, type Style } from "../reporters/terminal-style.ts";
import { wrap } from "../reporters/terminal-wrap.ts";
import { type CommandIo, defineCommand, exitCodes } from "./command.ts";
import { type Diagnosis, fail, ok, warn } from "./diagnosis.ts";
import { wantsColour, write } from "./output.ts";
import { requireRipgrep, requireTempFolder, tryDataFolder } from "./require-workable.ts";
import { useProxy } from "./use-proxy.ts";

export const doctor = defineCommand({
  positionals: [],
  options: {},
  notes: [
    "Checks Node, git, ripgrep, the environment, the data folder and its database, the App's credentials, the models, and what " +
      "runs commands. Each model is asked a small question or two, which costs a fraction of a cent.",
    "",
    "Exit code: 0 nothing failed, 1 something did.",
  ],
  examples: [{ command: "hunkwise doctor", says: "what works, what is missing and what to do" }],
  run: runDoctor,
});

const NAME_WIDTH = 13;
const LEAD = 6;

async function runDoctor(_values: unknown, _positionals: readonly string[], io: CommandIo): Promise<number> {
  const style = createStyle(wantsColour(io.stdout), io.stdout.columns || 100);
  const environment = readEnvironment();
  // A check that waits for a far side need not hear of it.
  const stopped = once(io.signal, "abort");
  let failed = false;
  for (const { name, run } of checks) {
    const found = await Promise.race([run(environment, io.signal), stopped]);
    io.signal.throwIfAborted();
    for (const diagnosis of [found].flat() as Diagnosis[]) {
      failed ||= diagnosis.state === "fail";
      await write(io.stdout, row(name, diagnosis, style));
    }
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

interface Check {
  name: string;
  run(environment: InspectedEnv, signal: AbortSignal): Promise<Diagnosis | readonly Diagnosis[]>;
}

/** The environment as a server reads it; what is wrong with it is a diagnosis like any other. */
function readEnvironment(): InspectedEnv {
  const read = inspectServerEnv();
  if (!concerns(read, network)) useProxy(read.env);
  return read;
}

/** Variables by what they are about. */
const network = /^(HTTPS?_PROXY|NO_PROXY|NODE_EXTRA_CA_CERTS)$/;
const data = /^HUNKWISE_DATA_DIR$/;
const database = /^(DATABASE_URL|HUNKWISE_DATA_DIR)$/;
const github = /^(APP_ID|PRIVATE_KEY|PRIVATE_KEY_PATH|WEBHOOK_SECRET|GHE_.*|HUNKWISE_DATA_DIR)$/;
const model =
  /^(AZURE_)?OPENAI_|^HUNKWISE_(MODEL|VERIFY_MODEL|SUMMARIZE_MODEL|FALLBACK_.*|PROTOCOL|REASONING_EFFORT|CONTEXT_TOKENS|PRICES)$/;
const vectors = /^(AZURE_)?OPENAI_|^HUNKWISE_EMBEDDING_/;
const sandbox = /^HUNKWISE_SANDBOX_/;

const concerns = ({ faults }: InspectedEnv, ...about: readonly RegExp[]) =>
  faults.find(({ variable }) => about.some((pattern) => pattern.test(variable)));

/** A check that is skipped, with a word, if something is wrong with its own variables. */
const needsEnv =
  (check: (env: Env, signal: AbortSignal) => Promise<Diagnosis>, ...about: readonly RegExp[]): Check["run"] =>
  async (environment, signal) => {
    const fault = concerns(environment, ...about);
    if (fault) return { state: "warn", says: `not checked before ${fault.variable} is right`, remedy: null };
    return check(environment.env, signal).catch(fail);
  };

async function checkEnvironment({ env, faults }: InspectedEnv): Promise<readonly Diagnosis[]> {
  const notices = env.notices.map((notice) => warn(notice, "Correct it in the environment or in .env."));
  const all = [...faults.map(fail), ...notices];
  return all.length > 0 ? all : [ok("read")];
}

async function checkGit(): Promise<Diagnosis> {
  const { requireGit } = await import("../git/run-git.ts");
  const { path, version } = await requireGit({ searchPath: programPath() });
  return ok(`${version} at ${path}`);
}

async function checkRipgrep(signal: AbortSignal): Promise<Diagnosis> {
  await requireTempFolder();
  await requireRipgrep(signal);
  return ok("searches");
}

async function checkDataFolder({ dataDir }: Env): Promise<Diagnosis> {
  const state = await tryDataFolder(dataDir);
  return ok(state === "there" ? dataDir : `${dataDir}, to be created`);
}

/** Looks at a database that is there and creates none. */
async function checkDatabase(env: Env): Promise<Diagnosis> {
  const { databaseUrl, dataDir: dataFolder } = env;
  let where = "";
  if (databaseUrl !== null) {
    const { inspectPostgres } = await import("../queue/postgres-database.ts");
    const { version, isSetUp, mayCreate } = await inspectPostgres(databaseUrl);
    where = `Postgres ${version}: `;
    if (!isSetUp && !mayCreate) throw mayNotCreate(version);
    if (!isSetUp) return ok(`${where}to be set up by the first start`);
  } else if (!(await stat(join(dataFolder, "queue.db")).catch(() => null))) {
    return ok("to be created by the first start");
  }
  const { openStores } = await import("../queue/open-stores.ts");
  const { queue } = await openStores({ databaseUrl, dataFolder });
  try {
    await queue.check();
    const { jobs, oldestWaitingMs } = await queue.stats();
    const counts = Object.entries(jobs).map(([state, count]) => `${count} ${state}`);
    const age = oldestWaitingMs === null ? "" : `; the oldest waits for ${duration(oldestWaitingMs)}`;
    return ok(`${where}${counts.join(", ")}${age}`);
  } finally {
    await queue.close();
  }
}

function mayNotCreate(version: string): AppError {
  return new AppError("database_unreachable", `Postgres ${version} lets this user create no schema`, {
    remedy: "Grant CREATE on the database to the user in DATABASE_URL.",
  });
}

async function checkGitHub(env: Env): Promise<Diagnosis> {
  if (env.app === null) {
    return warn(
      "no App credentials: pull requests are not reviewed",
      "Run `hunkwise serve` and open its page to create the App.",
    );
  }
  const { createProbot, appIdentity } = await import("../webhooks/probot.ts");
  const { createLogger } = await import("../logger.ts");
  const { slug } = await appIdentity(createProbot(env.app, env.github, createLogger("silent")))();
  return ok(`${env.github.host} knows the App ${slug}`);
}

async function checkModel(env: Env, signal: AbortSignal): Promise<Diagnosis> {
  if (env.model === null) {
    return warn(
      "none: reviews use only the built-in analyzers",
      "Set OPENAI_API_KEY, or OPENAI_BASE_URL and HUNKWISE_MODEL.",
    );
  }
  const { checkModels } = await import("./check-models.ts");
  return checkModels({ ...env, model: env.model }, signal);
}

async function checkVectors({ embedding }: Env, signal: AbortSignal): Promise<Diagnosis> {
  if (embedding === null) return ok("none: the knowledge graph finds by words only");
  const { checkEmbedding } = await import("./check-models.ts");
  return checkEmbedding(embedding, signal);
}

/** Only fixes run commands, and they do without where they have to. */
async function checkSandbox({ sandbox: { readable, hidden, memoryMb } }: Env, signal: AbortSignal) {
  const { findSandbox } = await import("../sandbox/find-sandbox.ts");
  const found = await findSandbox({ searchPath: programPath(), readable, hidden, signal });
  if (!found.sandbox) return warn(`none: fixes run no commands, because ${found.why}`, found.remedy);
  const folders = readable.length === 0 ? "" : `, beside /usr they read ${readable.join(", ")}`;
  return ok(`commands run in bubblewrap with ${memoryMb} MB${folders}`);
}

/** Every check, in the order of the table. None of them rejects. */
export const checks: readonly Check[] = [
  { name: "Node", run: async () => ok(process.versions.node) },
  { name: "git", run: () => checkGit().catch(fail) },
  { name: "ripgrep", run: (_, signal) => checkRipgrep(signal).catch(fail) },
  { name: "environment", run: checkEnvironment },
  { name: "data folder", run: needsEnv(checkDataFolder, data) },
  { name: "database", run: needsEnv(checkDatabase, database) },
  { name: "GitHub", run: needsEnv(checkGitHub, github, network) },
  { name: "model", run: needsEnv(checkModel, model, network) },
  { name: "vectors", run: needsEnv(checkVectors, vectors, network) },
  { name: "sandbox", run: needsEnv(checkSandbox, sandbox) },
];
