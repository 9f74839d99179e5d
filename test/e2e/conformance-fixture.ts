import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { type AppOptions, type AppUnderTest, startApp } from "../support/app-under-test.ts";
import type { ChatRequestBody, FakeTurn } from "../support/fake-openai.ts";
import type { FaultKind } from "../support/github-double/faults.ts";
import { fullName, type ReviewComment } from "../support/github-double/model.ts";
import type { Files } from "../support/github-double/people.ts";
import type { Violation } from "../support/github-double/rest.ts";
import { query } from "../support/postgres.ts";

// Shared by the conformance cases: code to change, short forms of a model's calls, and a summary of the end state on GitHub.

/** Cases run concurrently and share two cores with other work, so each takes much longer than alone. */
export const patient = { timeout: 600_000 };

/** Waits for a condition that no request to GitHub signals; otherwise the test's own time-out ends it. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(50);
}

/** Resolves when no job of a repository runs or waits for a retry. */
export async function noJobLeft(
  { dataFolder, databaseUrl }: Pick<AppUnderTest, "dataFolder" | "databaseUrl">,
  { id }: { id: number },
): Promise<void> {
  const open = `SELECT count(*) AS jobs FROM job WHERE state IN ('waiting', 'active') AND concurrency_key LIKE '${id}%'`;
  if (databaseUrl !== null) {
    while (Number((await query(databaseUrl, open))[0]?.jobs) > 0) await sleep(50);
    return;
  }
  using database = new DatabaseSync(join(dataFolder, "queue.db"), { readOnly: true });
  const statement = database.prepare(open);
  await until(() => statement.get()?.jobs === 0);
}

export type ToolCall = NonNullable<FakeTurn["tool_calls"]>[number];

/** One answer of the model. */
export const turn = (...tool_calls: ToolCall[]): FakeTurn => ({ tool_calls });

/** A report, with defaults for the other fields. */
export const finding = (over: { line: number; quote: string } & Record<string, unknown>): ToolCall => ({
  name: "report_finding",
  arguments: {
    path: "src/numbers.js",
    severity: "high",
    category: "correctness",
    title: `Line ${over.line} is wrong`,
    body: "Whoever reads it gets the wrong number.",
    confidence: 0.9,
    ...over,
  },
});

export const finish: ToolCall = {
  name: "finish_review",
  arguments: { summary: "Changes a few numbers." },
};

/** `const n1 = 1;` and so on up to `count`, with some lines replaced; an empty list removes a line. */
export function numbers(count: number, anew: Record<number, string | readonly string[]> = {}): string {
  const lines = Array.from(
    { length: count },
    (_, index) => anew[index + 1] ?? `const n${index + 1} = ${index + 1};`,
  );
  return `${lines.flat().join("\n")}\n`;
}

/** The tool results in a request, oldest first. */
export const answers = (body: ChatRequestBody | undefined): string[] =>
  (body?.messages ?? []).flatMap((message) => (message.role === "tool" ? [String(message.content)] : []));

/** The visible state of the pull request, in short form. */
export interface EndState {
  /** Reviews of the App. A file comment adds a separate review. */
  reviews: number;
  /** Places of the App's comments, in GitHub's order: "a.js RIGHT 3", "a.js RIGHT 2-3", or "a.js" for the file. */
  comments: string[];
  /** The App's comments in the conversation: the one that is edited in place. */
  summaries: number;
  /** Conclusion of the newest head's check run. */
  check: string | null | undefined;
}

/** The parts of an App that a case needs: its pull request, and the two services around it. */
type PullUnderTest = Pick<
  AppUnderTest,
  | "github"
  | "people"
  | "repository"
  | "pull"
  | "app"
  | "model"
  | "reviewRequests"
  | "dataFolder"
  | "databaseUrl"
> &
  Pick<AppUnderTest, "send" | "comment" | "reply" | "concluded">;

/** A pull request on an App, and the actions on it. */
export interface Case extends PullUnderTest {
  /** Sends the webhook about the current pull request; resolves when its review is over. */
  review(action?: "opened" | "synchronize"): Promise<void>;
  /** Pushes; resolves when the App has reviewed the new head. */
  push(files: Files): Promise<void>;
  /** Resolves when no job runs or waits for a retry. */
  idle(): Promise<void>;
  /** Adds a fault to the next request about this repository only: `route` is "POST /pulls/1/reviews", without the repository. */
  fault(route: string, kind: FaultKind): void;
  /** The faults that occurred for this repository, as "METHOD /path kind". */
  struck(): string[];
  /** Removes and returns the violations about this repository. */
  takeViolations(): Violation[];
  end(): EndState;
  /** The visible text of the summary. */
  summary(): string;
  /** Texts of the App's comments, in the order of `end().comments`. */
  bodies(): string[];
  /** The App's comments that open a thread. */
  threads(): ReviewComment[];
  /** The App's replies in threads. */
  replies(): string[];
  /** The login that resolved the comment's thread; null if it is open. */
  resolvedBy(comment: ReviewComment): string | null;
}

/**
 * Runs one case with a separate App, for options that `onPull` does not have: the server's environment, or its end. In every case, GitHub
 * must have received no request that it would refuse, and the model none that its endpoint would refuse.
 */
export async function onApp<Seen>(
  options: AppOptions,
  play: (app: Case & AppUnderTest) => Promise<Seen>,
): Promise<Seen> {
  const app = await startApp(options);
  const seen = await play(caseOf(app)).finally(() => app[Symbol.asyncDispose]());
  expect(app.github.violations).toEqual([]);
  expect(app.model?.complaints ?? []).toEqual([]);
  return seen;
}

/** The same object, with the actions and queries of a case. */
export function caseOf<App extends PullUnderTest>(app: App): Case & App {
  const { pull, people, repository, github } = app;
  const ours = <T extends { via: unknown }>(written: readonly T[]) =>
    written.filter(({ via }) => via === app.app);
  const threads = () => ours(pull.reviewComments.filter((one) => !one.inReplyTo));
  const about = `/repos/${fullName(repository)}/`;
  const review: Case["review"] = async (action = "opened") => {
    await app.send(action);
    await app.concluded();
  };
  return Object.assign(app, {
    review,
    async push(files: Files) {
      people.push(pull, files);
      await review("synchronize");
    },
    idle: () => noJobLeft(app, repository),
    fault(route: string, kind: FaultKind) {
      const [method = "", path = ""] = route.split(" ");
      github.faults.add({ match: new RegExp(`^${method} ${about.slice(0, -1)}${path}$`), kind });
    },
    struck: () => github.faults.struck.filter((one) => one.includes(about)),
    takeViolations() {
      const { violations } = github;
      const taken = violations.filter(({ request }) => request.includes(about));
      violations.splice(0, Infinity, ...violations.filter((one) => !taken.includes(one)));
      return taken;
    },
    end: (): EndState => ({
      reviews: ours(pull.reviews).length,
      comments: threads().map(placeOf),
      summaries: ours(pull.comments).length,
      check: repository.checkRuns.findLast(({ headSha }) => headSha === pull.heads.at(-1))?.conclusion,
    }),
    summary: () => ours(pull.comments)[0]?.body.replace(/<!-- hunkwise:[^>]*-->\s*$/, "") ?? "",
    bodies: () => threads().map(({ body }) => body),
    threads,
    replies: () => ours(pull.reviewComments.filter((one) => one.inReplyTo)).map(({ body }) => body),
    resolvedBy: (comment: ReviewComment) => comment.resolvedBy?.login ?? null,
  });
}

function placeOf({ path, anchor }: AppUnderTest["pull"]["reviewComments"][number]): string {
  if (!anchor) return path;
  const { side, startLine, line } = anchor;
  return `${path} ${side} ${startLine === null ? "" : `${startLine}-`}${line}`;
}
