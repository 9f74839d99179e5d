import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { withAgreeingSceptic } from "../support/agreeing-sceptic.ts";
import { modelKey } from "../support/app-under-test.ts";
import {
  type ChatRequestBody,
  type FakeAnswer,
  type FakeOpenAi,
  startFakeOpenAi,
} from "../support/fake-openai.ts";
import { TempFolder } from "../support/git-repo.ts";
import { deliver } from "../support/github-double/deliver.ts";
import type { CheckRun, Pull, Review, ReviewComment } from "../support/github-double/model.ts";
import {
  type EventDetails,
  issueCommentPayload,
  type PullAction,
  pullRequestPayload,
} from "../support/github-double/payloads.ts";
import { createScenario, type Scenario } from "../support/github-double/scenario.ts";
import { query } from "../support/postgres.ts";
import { type ServerProcess, startServerProcess } from "../support/server-process.ts";
import { finding, finish, numbers, turn } from "./conformance-fixture.ts";

/*
 * One GitHub with four pull requests whose reviews were interrupted by a kill of the server. `scripts/record-upgrade.ts` runs it with the
 * released version and keeps what that version left: its data folder, its database, and its texts on GitHub. Another version continues from
 * there.
 */

export const path = "src/numbers.js";
const base = { [path]: numbers(120), ".github/hunkwise.yml": "check: { fail: true }\n" };
export const mended = "const n10 = 10.0;";
const wrong = (line: number) => `const n${line} = 0;`;
/** The lines of #1 with a fault at its first head. */
export const faults = { mended: 10, dismissed: 40, open: 80 };

/** #1 at a head; lines that are not given are as in the base. */
export const reviewedFiles = (lines: Record<number, string>) => ({ [path]: numbers(120, lines) });
export const firstHead = { 10: wrong(10), 40: wrong(40), 80: wrong(80) };

/** Turns of the reviewer of #2 before it reports and finishes. */
export const reads = 6;
/** The server is killed during this turn of #2. */
export const turnsBeforeKill = 4;

export const titles = {
  reviewed: "Numbers with faults",
  running: "Numbers read for long",
  waiting: "Numbers that wait",
  paused: "Numbers that are paused",
};

/** The model as reviewer; it derives the pull request and its progress from the request only. */
function reviewer({ messages }: ChatRequestBody): FakeAnswer {
  const text = JSON.stringify(messages);
  const reports = Object.values(faults)
    .filter((line) => text.includes(`+${wrong(line)}`))
    .map((line) => finding({ line, quote: wrong(line) }));
  if (!text.includes(titles.running)) return turn(...reports, finish);
  const said = messages.filter(({ role }) => role === "assistant").length;
  if (said >= reads) return turn(...reports, finish);
  return turn({ name: "read_file_part", arguments: { path, start_line: said + 1, end_line: said + 5 } });
}

export interface Scene extends AsyncDisposable, Scenario {
  pulls: Record<keyof typeof titles, Pull>;
  model: FakeOpenAi;
  /** From now on, the model does not answer about #2. */
  holdRunning(): void;
  data: TempFolder;
  server: ServerProcess | null;
  /** The environment of the server. */
  serverEnv: Record<string, string>;
  start(): Promise<void>;
  tell(pull: Pull, action: PullAction, details?: EventDetails, id?: string): Promise<number>;
  comment(pull: Pull, login: string, text: string): Promise<number>;
  /** Number of requests to the model about a pull request, in any role. */
  asked(pull: Pull): number;
}

/** The delivery about #2's opening; GitHub may redeliver it. */
export const runningDelivery = "6c1fd6f0-0000-4000-8000-0000000000f2";

/** Opens the four pull requests on a new GitHub. Ids and commits are the same each time. */
export async function setScene(databaseUrl: string | null): Promise<Scene> {
  const scenario = await createScenario({
    base,
    head: [{ files: reviewedFiles(firstHead) }],
    title: titles.reviewed,
  });
  const { people, repository, github, webhookSecret } = scenario;
  people.addCollaborator(repository, "carol", "write");
  const open = (title: string, line: number) =>
    people.openPull(repository, {
      title,
      author: "octocat",
      commits: [{ files: reviewedFiles({ [line]: wrong(line) }) }],
    });
  const pulls = {
    reviewed: scenario.pull,
    running: open(titles.running, 80),
    waiting: open(titles.waiting, 40),
    paused: open(titles.paused, 10),
  };
  let isHeld = false;
  const agreeing = withAgreeingSceptic(reviewer, {
    resolution: (asked) => ({
      state: asked.includes(`Line ${faults.mended} is wrong`) ? "fixed" : "present",
      reason: "The code says so.",
    }),
  });
  const model = await startFakeOpenAi({
    apiKey: modelKey,
    script: (body) => {
      const isRunning = JSON.stringify(body.messages).includes(titles.running);
      const said = body.messages.filter(({ role }) => role === "assistant").length;
      return isHeld && isRunning && said >= turnsBeforeKill ? { fault: "hang" } : agreeing.script(body);
    },
  });
  const data = new TempFolder("data");
  const scene: Scene = {
    ...{ ...scenario, pulls, model, data, server: null },
    holdRunning: () => {
      isHeld = true;
    },
    serverEnv: {
      ...scenario.env,
      HUNKWISE_DATA_DIR: data.path,
      ...{ OPENAI_API_KEY: modelKey, OPENAI_BASE_URL: model.url, HUNKWISE_MODEL: "fake-model" },
      ...{ HUNKWISE_PROTOCOL: "native", HUNKWISE_CONCURRENCY: "1", HUNKWISE_GRAPH: "off" },
      ...{ HUNKWISE_PUSH_WINDOW_SECONDS: "0", HUNKWISE_WRITE_GAP_SECONDS: "0" },
      HUNKWISE_RECONCILE_MINUTES: "0",
      ...(databaseUrl === null ? {} : { DATABASE_URL: databaseUrl }),
    },
    async start() {
      scene.server = await startServerProcess(scene.serverEnv);
    },
    async tell(pull, action, details = {}, id) {
      const payload = await pullRequestPayload(github.state, action, pull, pull.author, details);
      const target = { url: scene.server?.webhookUrl ?? "", secret: webhookSecret, ...(id ? { id } : {}) };
      return (await deliver(github.state, "pull_request", payload, target)).status;
    },
    async comment(pull, login, text) {
      const payload = issueCommentPayload(github.state, people.comment(pull, login, text));
      const target = { url: scene.server?.webhookUrl ?? "", secret: webhookSecret };
      return (await deliver(github.state, "issue_comment", payload, target)).status;
    },
    asked: ({ title }) =>
      model.requests.filter(({ body }) => JSON.stringify(body.messages).includes(title)).length,
    async [Symbol.asyncDispose]() {
      await scene.server?.stop();
      await model.close();
      data.dispose();
      await github.close();
    },
  };
  return scene;
}

/** The newest check run of a pull request's head. */
export const checkOf = ({ repository, heads }: Pull): CheckRun | undefined =>
  repository.checkRuns.findLast(({ headSha }) => headSha === heads.at(-1));

export const concluded = ({ github }: Scene, pull: Pull): Promise<void> =>
  github.until(() => checkOf(pull)?.status === "completed");

/** The head of #1 on which one fault is mended. */
export const mendFirst = ({ people, pulls }: Scene): string =>
  people.push(pulls.reviewed, reviewedFiles({ ...firstHead, 10: mended }));

/* What the App wrote, as a file. */

interface KeptGitHub {
  recordedAt: number;
  port: number;
  checkRuns: unknown[];
  pulls: Record<string, { reviews: unknown[]; reviewComments: unknown[]; comments: unknown[] }>;
}

/** Objects of the double reference each other; the file holds their ids and logins instead. */
function plain(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if ("login" in value) return { account: (value as { login: string }).login };
  if ("publicKey" in value) return { app: true };
  if ("heads" in value) return { pull: (value as Pull).number };
  if ("defaultBranch" in value) return { repository: true };
  return value;
}

const keepWritten = (one: object) => JSON.parse(JSON.stringify(one, plain)) as object;
const keepComment = (one: ReviewComment) => ({
  ...keepWritten({ ...one, review: null, inReplyTo: null }),
  review: one.review.id,
  inReplyTo: one.inReplyTo?.id ?? null,
});

export function keepGitHub({ github, repository }: Scene, file: string): void {
  const kept: KeptGitHub = {
    recordedAt: Date.now(),
    port: github.port,
    checkRuns: repository.checkRuns.map(keepWritten),
    pulls: Object.fromEntries(
      [...repository.pulls].map(([number, { reviews, reviewComments, comments }]) => [
        number,
        {
          reviews: reviews.map(keepWritten),
          reviewComments: reviewComments.map(keepComment),
          comments: comments.map(keepWritten),
        },
      ]),
    ),
  };
  writeFileSync(file, `${JSON.stringify(kept, null, 1)}\n`);
}

/** Restores the recorded version's writes on GitHub from the file. Returns their time, in milliseconds since 1970. */
export function restoreGitHub({ github, repository, app }: Scene, file: string): number {
  const kept = JSON.parse(readFileSync(file, "utf8")) as KeptGitHub;
  const { state } = github;
  let lastId = 0;
  const revive = <T>(given: unknown): T =>
    JSON.parse(JSON.stringify(given), (key, value: unknown) => {
      if (key === "id") lastId = Math.max(lastId, Number(value));
      if (/At$/.test(key) && typeof value === "string") return new Date(value);
      if (typeof value !== "object" || value === null) return value;
      if ("account" in value) return state.account(String(value.account));
      if ("app" in value) return value.app === true ? app : value;
      if ("pull" in value && Object.keys(value).length === 1) return repository.pulls.get(Number(value.pull));
      if ("repository" in value && value.repository === true) return repository;
      return value;
    }) as T;
  repository.checkRuns.push(...revive<CheckRun[]>(kept.checkRuns));
  for (const [number, written] of Object.entries(kept.pulls)) {
    const pull = repository.pulls.get(Number(number));
    if (!pull) throw new Error(`There is no pull request #${number}`);
    pull.comments = revive<Pull["comments"]>(written.comments);
    pull.reviews = revive<Review[]>(written.reviews);
    for (const one of revive<ReviewComment[]>(written.reviewComments)) {
      const review = pull.reviews.find(({ id }) => id === Number(one.review)) ?? one.review;
      const inReplyTo = pull.reviewComments.find(({ id }) => id === Number(one.inReplyTo)) ?? null;
      pull.reviewComments.push({ ...one, review, inReplyTo });
    }
    for (const one of [...pull.comments, ...pull.reviews, ...pull.reviewComments]) one.pull = pull;
  }
  for (const run of repository.checkRuns) run.repository = repository;
  while (state.nextId() < lastId);
  return kept.recordedAt;
}

export function keepFolder(folder: string, file: string): void {
  execFileSync("tar", ["--create", "--gzip", "--sort=name", `--file=${file}`, "--directory", folder, "."]);
}

export function restoreFolder(file: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  execFileSync("tar", ["--extract", "--gzip", `--file=${file}`, "--directory", folder]);
}

/** The records of a run cannot be changed. */
const isTime = (table: string, column: string) =>
  table !== "trajectory" && /_(at|until|after|since)$/.test(column);

/** Moves times as if the version had been killed just now, because old records are deleted. */
export function moveTimes(folder: string, byMs: number): void {
  using database = new DatabaseSync(join(folder, "queue.db"));
  const columns = database
    .prepare(
      "SELECT m.name AS tbl, c.name AS col FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'",
    )
    .all() as { tbl: string; col: string }[];
  for (const { tbl, col } of columns)
    if (isTime(tbl, col))
      database.exec(`UPDATE ${tbl} SET ${col} = ${col} + ${byMs} WHERE ${col} IS NOT NULL`);
}

/** The rows of a Postgres database as statements, to run after those that create its tables. */
export async function keepRows(url: string): Promise<string> {
  const columns = (await query(
    url,
    "SELECT table_name, column_name, is_identity FROM information_schema.columns WHERE table_schema = 'hunkwise' ORDER BY table_name, ordinal_position",
  )) as { table_name: string; column_name: string; is_identity: string }[];
  const literal = (value: unknown) =>
    value === null ? "NULL" : typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);
  const lines: string[] = [];
  for (const [table, of] of Map.groupBy(columns, (one) => one.table_name)) {
    const names = of.map((one) => one.column_name);
    const order = of.some((one) => one.is_identity === "YES")
      ? ` ORDER BY ${of.find((one) => one.is_identity === "YES")?.column_name}`
      : "";
    for (const row of await query(url, `SELECT * FROM hunkwise.${table}${order}`))
      lines.push(
        `INSERT INTO hunkwise.${table} (${names.join(", ")}) OVERRIDING SYSTEM VALUE VALUES (${names.map((name) => literal(row[name])).join(", ")});`,
      );
    for (const one of of)
      if (one.is_identity === "YES")
        lines.push(
          `SELECT setval(pg_get_serial_sequence('hunkwise.${table}', '${one.column_name}'), (SELECT coalesce(max(${one.column_name}), 0) + 1 FROM hunkwise.${table}));`,
        );
  }
  return `${lines.join("\n")}\n`;
}

export async function restoreRows(url: string, file: string, byMs: number): Promise<void> {
  await query(url, readFileSync(file, "utf8"));
  const columns = (await query(
    url,
    "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'hunkwise'",
  )) as { table_name: string; column_name: string }[];
  for (const { table_name, column_name } of columns)
    if (isTime(table_name, column_name))
      await query(
        url,
        `UPDATE hunkwise.${table_name} SET ${column_name} = ${column_name} + ${byMs} WHERE ${column_name} IS NOT NULL`,
      );
}
