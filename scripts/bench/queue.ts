import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { ClaimedJob } from "../../src/server/queue/job.ts";
import type { Queue } from "../../src/server/queue/queue.ts";
import { openSqliteStores, type Stores } from "../../src/server/queue/stores.ts";
import { delivery, reviewJob } from "../../test/contract/jobs.ts";
import { compare, timed } from "./measure.ts";
import { type Bench, ratioRow } from "./row.ts";

/** Webhooks or claims per timed round. */
const A_ROUND = 200;
/** Waiting jobs in a long and a short queue. */
const WAITING = 5_000;
const A_FEW = 250;
const INSTALLATIONS = 50;

/** The cost of storing a webhook, against a plain row written in the same way, and the cost of claiming a job from a long queue. */
export async function benchQueue({ temp, say, add }: Bench): Promise<void> {
  say(`storing webhooks, and taking jobs with ${WAITING} waiting`);
  const stores = openSqliteStores(join(temp, "queue"));
  using bare = openBare(join(temp, "bare.db"));
  try {
    const accepting = await compare({
      repetitions: 5,
      ours: (round) => accept(stores.queue, round),
      reference: async () => bare.insert(A_ROUND),
    });
    add(ratioRow(`storing ${A_ROUND} webhooks / ${A_ROUND} rows, synced one by one`, accepting, 3));
    const claiming = await claim(join(temp, "long"), join(temp, "short"));
    add(ratioRow(`taking ${A_ROUND} of ${WAITING} jobs / of ${A_FEW}`, claiming, 10));
  } finally {
    await stores.close();
  }
}

const accept = (queue: Queue, round: number) =>
  timed(async () => {
    for (let n = 0; n < A_ROUND; n++) await queue.accept(delivery(`${round}-${n}`), [jobOf(n, round)]);
  });

/** Claims from a long queue against a short one. */
async function claim(longFolder: string, shortFolder: string) {
  const [long, short] = [openSqliteStores(longFolder), openSqliteStores(shortFolder)];
  try {
    await fill(long, WAITING);
    await fill(short, A_FEW);
    return await compare({
      repetitions: 5,
      ours: () => claimSome(long.queue),
      reference: () => claimSome(short.queue),
    });
  } finally {
    await Promise.all([long.close(), short.close()]);
  }
}

async function fill({ queue }: Stores, waiting: number): Promise<void> {
  for (let at = 0; at < waiting; at += A_FEW) {
    const jobs = Array.from({ length: A_FEW }, (_, n) => jobOf(at + n, 0));
    await queue.accept(delivery(`waiting-${at}`), jobs);
  }
}

/** Claims jobs, and returns all of them for the next round outside the measurement. */
async function claimSome(queue: Queue): Promise<number> {
  const claimed: (ClaimedJob | undefined)[] = [];
  const took = await timed(async () => {
    for (let n = 0; n < A_ROUND; n++) claimed.push(await queue.claim("bench", 600_000));
  });
  for (const job of claimed) if (job) await queue.release(job, 0, "measured", { countAttempt: false });
  return took;
}

/** A review job of a different pull request each time. */
function jobOf(n: number, round: number) {
  const job = reviewJob(n, { concurrencyKey: `${round}#${n}` });
  const { task } = job;
  if (task.kind !== "review") throw new Error("a review was expected");
  return {
    ...job,
    task: { ...task, repository: { ...task.repository, installation: 1 + (n % INSTALLATIONS) } },
  };
}

/** A minimal program that only writes. */
function openBare(file: string) {
  const database = new DatabaseSync(file);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE row (text TEXT)");
  const add = database.prepare("INSERT INTO row (text) VALUES (?)");
  const text = "x".repeat(500);
  return {
    /** Resolves to milliseconds. */
    insert(rows: number): number {
      const start = performance.now();
      for (let n = 0; n < rows; n++) add.run(text);
      return performance.now() - start;
    },
    [Symbol.dispose]: () => database.close(),
  };
}
