import { access, constants, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Env, programPath } from "../config/env.ts";
import { readServerEnv } from "../config/stored-app.ts";
import { AppError, errorLine } from "../errors.ts";
import { duration } from "../reporters/outcome.ts";
import { type Diagnosis, fail, ok, warn } from "./diagnosis.ts";

/** The environment, or why it cannot be used. */
export type Environment = { env: Env } | { env: null; error: unknown };

interface Check {
  name: string;
  run(environment: Environment, signal: AbortSignal): Promise<Diagnosis>;
}

/** The environment as a server reads it; a broken one is a diagnosis like any other. */
export function readEnvironment(): Environment {
  try {
    return { env: readServerEnv() };
  } catch (error) {
    return { env: null, error };
  }
}

/** A check that needs the environment is skipped, with a word, where that is broken. */
const needsEnv =
  (check: (env: Env, signal: AbortSignal) => Promise<Diagnosis>): Check["run"] =>
  async (environment, signal) => {
    if (!environment.env) return { state: "warn", says: "not checked without the environment", remedy: null };
    return check(environment.env, signal).catch(fail);
  };

async function checkGit(): Promise<Diagnosis> {
  const { requireGit } = await import("../git/git-version.ts");
  const { path, version } = await requireGit({ searchPath: programPath() });
  return ok(`${version} at ${path}`);
}

/** Searches a file, because a program that is there need not run on this machine. */
async function checkRipgrep(signal: AbortSignal): Promise<Diagnosis> {
  const { searchTree } = await import("../git/ripgrep.ts");
  const root = await mkdtemp(join(tmpdir(), "hunkwise-doctor-"));
  try {
    await writeFile(join(root, "a.txt"), "needle\n");
    const tree = new Map([["a.txt", { path: "a.txt", mode: "100644", oid: "0".repeat(40) }]]);
    const flags = { fixedString: true, ignoreCase: false, wholeWord: false, invertMatch: false };
    const query = { pattern: "needle", contextLines: 0, maxResults: 1, mode: "count", ...flags } as const;
    const hits = await searchTree({ root, tree }, query, signal);
    if (hits.mode === "count" && hits.counts.length === 1) return ok("searches");
    throw new AppError("git_failed", "ripgrep did not find what is there", {
      remedy: "Install Hunkwise again: the binary of @vscode/ripgrep seems to be damaged.",
    });
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

async function checkDataFolder({ dataDir }: Env): Promise<Diagnosis> {
  const there = await stat(dataDir).catch(() => null);
  if (there && !there.isDirectory()) throw unusable(dataDir, "it is not a folder");
  const folder = there ? dataDir : dirname(dataDir);
  await access(folder, constants.W_OK | constants.X_OK).catch((error: unknown) => {
    throw unusable(dataDir, errorLine(error));
  });
  return ok(there ? dataDir : `${dataDir}, to be created`);
}

function unusable(folder: string, why: string): AppError {
  return new AppError("data_folder_unusable", `Cannot use the data folder ${folder}: ${why}`, {
    remedy: "Make it a folder this user may write to, or name another one in HUNKWISE_DATA_DIR.",
  });
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
      "none: reviews run on the built-in analyzers alone",
      "Set OPENAI_API_KEY, or OPENAI_BASE_URL and HUNKWISE_MODEL.",
    );
  }
  const { checkModels } = await import("./check-models.ts");
  return checkModels({ ...env, model: env.model }, signal);
}

async function checkVectors({ embedding }: Env, signal: AbortSignal): Promise<Diagnosis> {
  if (embedding === null) return ok("none: the knowledge graph finds by words alone");
  const { checkEmbedding } = await import("./check-embedding.ts");
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
  { name: "environment", run: async (read) => (read.env ? ok("read") : fail(read.error)) },
  { name: "data folder", run: needsEnv(checkDataFolder) },
  { name: "database", run: needsEnv(checkDatabase) },
  { name: "GitHub", run: needsEnv(checkGitHub) },
  { name: "model", run: needsEnv(checkModel) },
  { name: "vectors", run: needsEnv(checkVectors) },
  { name: "sandbox", run: needsEnv(checkSandbox) },
];
