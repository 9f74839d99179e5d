import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { ClaimedJob } from "../../src/queue/job.ts";
import type { Queue } from "../../src/queue/queue.ts";
import { openSqliteStores, type Stores } from "../../src/queue/stores.ts";
import { delivery, reviewJob } from "../../test/contract/jobs.ts";
import { compare, timed } from "./measure.ts";
import { type Bench, ratioRow } from "./row.ts";

/** Webhooks or claims that are timed together. */
const A_ROUND = 200;
/** Jobs that wait in a long queue and in a short one, and the installations that they belong to. */
const WAITING = 5_000;
const A_FEW = 250;
const INSTALLATIONS = 50;

/** What storing a webhook costs, held against a row that is written in the same way, and what a long queue costs who takes jobs. */
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

/** A long queue, held against a short one. */
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

/** Takes jobs, and gives all back for the next round without counting. */
async function claimSome(queue: Queue): Promise<number> {
  const claimed: (ClaimedJob | undefined)[] = [];
  const took = await timed(async () => {
    for (let n = 0; n < A_ROUND; n++) claimed.push(await queue.claim("bench", 600_000));
  });
  for (const job of claimed) if (job) await queue.release(job, 0, "measured", { countAttempt: false });
  return took;
}

/** A review of a pull request of its own. */
function jobOf(n: number, round: number) {
  const job = reviewJob(n, { concurrencyKey: `${round}#${n}` });
  const { task } = job;
  if (task.kind !== "review") throw new Error("a review was expected");
  return {
    ...job,
    task: { ...task, repository: { ...task.repository, installation: 1 + (n % INSTALLATIONS) } },
  };
}

/** Somebody else's program that does nothing but write. */
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
