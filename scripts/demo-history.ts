import type { FindingFigure, FindingWords } from "../src/server/queue/figures.ts";
import type { JobOutcome, NewJob, RepositoryRef } from "../src/server/queue/job.ts";
import { openSqliteStores, type Stores } from "../src/server/queue/stores.ts";
import { seeded } from "../test/support/seeded.ts";

const [weeks, pullsAWeek] = [12, 6];
const [minute, day] = [60_000, 86_400_000];

/** Made-up findings: what the pages show of them. */
const faults: readonly {
  title: string;
  path: string;
  severity: string;
  category: string;
  source?: string;
  rule?: string;
}[] = [
  {
    title: "The last hour of the report is read twice",
    path: "src/report.js",
    severity: "high",
    category: "correctness",
  },
  {
    title: "A retry forgets the delay that the server asked for",
    path: "src/retry.js",
    severity: "medium",
    category: "error-handling",
  },
  {
    title: "The token is written to the log",
    path: "src/agents.js",
    severity: "critical",
    category: "security",
  },
  {
    title: "Every request opens a new connection",
    path: "src/agents.js",
    severity: "medium",
    category: "performance",
  },
  { title: "The comment describes the old order", path: "src/report.js", severity: "low", category: "docs" },
  {
    title: "Money is added as a floating point number",
    path: "src/costs.js",
    severity: "high",
    category: "data",
    rule: "money-is-decimal",
  },
  {
    title: "A debugger statement is left behind",
    path: "src/report.js",
    severity: "low",
    category: "maintainability",
    source: "debugger-leftovers/debugger",
  },
];
const ends = ["fixed", "fixed", "fixed", "dismissed", "open", "outdated"] as const;

/**
 * Fills an empty data folder with a made-up quarter of one repository, through the server's own stores: what ran, what it cost, and what became
 * of the findings. The same each time.
 */
export async function writeHistory(folder: string, repository: RepositoryRef, now: number): Promise<void> {
  const random = seeded(24);
  const below = (most: number) => Math.floor(random() * most);
  let time = 0;
  const stores = openSqliteStores(folder, { now: () => time });
  try {
    for (let pull = 101; pull < 101 + weeks * pullsAWeek; pull++) {
      const left = weeks * pullsAWeek - (pull - 101);
      time = now - Math.floor((left * 7 * day) / pullsAWeek) + below(5) * 60 * minute;
      await writePull(stores, { repository, pull, below, at: () => time, pass: (ms) => (time += ms) });
    }
  } finally {
    await stores.close();
  }
}

interface Writing {
  repository: RepositoryRef;
  pull: number;
  /** A whole number from 0 to below this. */
  below(most: number): number;
  /** The time of the history, in milliseconds since 1970. */
  at(): number;
  pass(milliseconds: number): void;
}

async function writePull(stores: Stores, writing: Writing): Promise<void> {
  const { repository, pull, below, at, pass } = writing;
  if (below(9) === 0) return run(stores, writing, [], { kind: "skipped", reason: "it is a draft" });
  const found = Array.from({ length: below(4) }, () => faults[below(faults.length)]).filter(
    (one) => one !== undefined,
  );
  const turns = Array.from({ length: 3 + below(6) }, () => 0.01 + below(60) / 1_000);
  const figures = {
    hunksTotal: 4 + below(20),
    isComplete: true,
    findings: found.length,
    posted: found.length,
  };
  const outcome: JobOutcome = {
    ...{ kind: "done", reason: `${found.length} posted` },
    figures: { head: String(pull).padStart(40, "c0ffee"), hunksServed: figures.hunksTotal, ...figures },
  };
  await run(stores, writing, turns, outcome);
  const of = { installation: repository.installation, repository: repository.id, pull };
  const write = (state: "open" | "merged", became: (index: number) => FindingFigure["state"]) =>
    stores.figures.write({
      ...{ ...of, state, closedAt: state === "open" ? null : at(), deleted: [], settled: null },
      findings: found.map((fault, index) => findingOf(fault, pull * 100 + index, became(index))),
    });
  await write("open", () => "open");
  pass((60 + below(1_200)) * minute);
  const became = found.map(() => ends[below(ends.length)] ?? "open");
  await write("merged", (index) => became[index] ?? "open");
}

async function run(
  { queue, spending }: Stores,
  { repository, pull, at, pass }: Writing,
  turns: readonly number[],
  outcome: JobOutcome,
): Promise<void> {
  const job: NewJob = {
    task: {
      ...{ kind: "review", mode: "new", again: false, repository, pull, headSha: "c0ffee".padEnd(40, "0") },
      ...{ trigger: `event#${pull}`, thread: null, commentId: null, requestedBy: null },
    },
    ...{ concurrencyKey: `${repository.id}#${pull}`, coalesce: false, priority: 0 },
  };
  await queue.enqueue(job);
  pass(12_000);
  const claimed = await queue.claim("history", 60 * minute);
  if (!claimed) throw new Error("No job to claim");
  for (const costUsd of turns) {
    pass(20_000);
    const turn = {
      model: "gpt-6.1-sol",
      promptTokens: 24_000,
      cachedTokens: 15_000,
      completionTokens: 900,
      costUsd,
    };
    await spending.charge(
      { installation: repository.installation, repository: repository.id, pull, job: claimed.id },
      turn,
      at(),
    );
  }
  await queue.complete(claimed, outcome);
}

function findingOf(
  { title, path, severity, category, source = "model", rule }: (typeof faults)[number],
  comment: number,
  state: FindingFigure["state"],
): { figure: FindingFigure; words: FindingWords } {
  return {
    figure: {
      key: String(comment),
      id: `made-up-${comment}`,
      comment,
      place: "comment",
      severity,
      category,
      source,
      rule: rule ?? null,
      state,
      thumbs: { up: comment % 3 === 0 ? 1 : 0, down: state === "dismissed" ? 1 : 0 },
      dismissal: state === "dismissed" ? { by: "octocat", how: "reply" } : null,
    },
    words: { title, path, line: 10 + (comment % 80), url: null, reason: null },
  };
}
