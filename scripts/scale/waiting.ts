import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import type { AppUnderTest } from "../../test/support/app-under-test.ts";
import { GitRepo } from "../../test/support/git-repo.ts";
import { signatureOf } from "../../test/support/github-double/deliver.ts";
import type { Pull } from "../../test/support/github-double/model.ts";
import { type OwnPostgres, startPostgres } from "../../test/support/postgres.ts";
import { watchMemory } from "../bench/memory.ts";
import { addTinyChange } from "../bench/repositories.ts";
import { numbersUpTo } from "../bench/source-text.ts";
import type { Measured, Measuring } from "./dimension.ts";
import { addMemory, isReviewed, openPull, payloadOf, startReviewingServer } from "./reviewing-server.ts";

const LINES = 40;
/** All webhooks arrive in this time. */
const WITHIN_MS = 1_000;

/** As many repositories, each with a pull request that is opened in the same second: one server with its own worker, and Postgres. */
export const waiting: Measured = {
  title: "Repositories that wait",
  axis: "repositories",
  sizes: [10, 50, 200],
  diskGigabytes: 2,
  async measure(sizes, measuring) {
    await using postgres = await startPostgres();
    for (const size of sizes) await measureOne(size, postgres, measuring);
  },
};

async function measureOne(size: number, postgres: OwnPostgres, measuring: Measuring): Promise<void> {
  measuring.say(`  making ${size} repositories`);
  await using app = await startReviewingServer({ DATABASE_URL: await postgres.createDatabase() });
  const pulls = numbersUpTo(size).map((number) => {
    const name = `of-${size}-${number}`;
    const repo = GitRepo.create({ dir: join(measuring.temp, `${name}.git`), bare: true });
    return openPull(app, addTinyChange(repo, LINES, number * 20), name, "topic");
  });
  const webhooks = join(measuring.temp, `webhooks-${size}.json`);
  writeFileSync(webhooks, JSON.stringify(await Promise.all(pulls.map((pull) => webhookOf(app, pull)))));

  measuring.say("  all of them at once");
  const peaks = watchMemory(app.server.process.pid ?? 0);
  const began = performance.now();
  const program = resolve(import.meta.dirname, "../../test/support/deliver-many.ts");
  const args = [program, app.server.webhookUrl, webhooks, String(WITHIN_MS)];
  const delivered = promisify(execFile)(process.execPath, args, { maxBuffer: 10_000_000 });
  await app.github.until(() => pulls.every(isReviewed), 1_800_000);
  const seconds = (performance.now() - began) / 1_000;
  const answers = JSON.parse((await delivered).stdout) as { status: number; ms: number }[];
  const refused = answers.filter(({ status }) => status !== 200 && status !== 202);
  if (refused.length > 0) throw new Error(`${refused.length} webhooks were not accepted`);
  measuring.add("until all are reviewed", "s", size, seconds);
  measuring.add("of that, each", "s", size, seconds / size);
  measuring.add("slowest answer to a webhook", "s", size, Math.max(...answers.map(({ ms }) => ms)) / 1_000);
  addMemory(measuring, "server", size, peaks());
}

/** The request of a webhook, as `deliver-many.ts` sends it. */
async function webhookOf(app: AppUnderTest, pull: Pull) {
  const body = JSON.stringify(await payloadOf(app, "opened", pull));
  const headers = {
    "content-type": "application/json",
    "x-github-event": "pull_request",
    "x-github-delivery": randomUUID(),
    "x-hub-signature-256": signatureOf(app.webhookSecret, body),
  };
  return { headers, body };
}
