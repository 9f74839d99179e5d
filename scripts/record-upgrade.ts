/**
 * Records what this version leaves behind when it is killed, for the test that another version continues from there:
 * `node scripts/record-upgrade.ts FOLDER`, once before a release. Each database gets a separate folder with the data folder, the rows of
 * Postgres and the texts on GitHub (`test/e2e/upgrade-scene.ts`).
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { postgresMigrations } from "../src/queue/postgres-database.ts";
import {
  checkOf,
  concluded,
  faults,
  keepFolder,
  keepGitHub,
  keepRows,
  mendFirst,
  runningDelivery,
  setScene,
  turnsBeforeKill,
} from "../test/e2e/upgrade-scene.ts";
import { startPostgres } from "../test/support/postgres.ts";

async function record(folder: string, databaseUrl: string | null): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await using scene = await setScene(databaseUrl);
  const { pulls, people, github } = scene;
  await scene.start();

  await scene.tell(pulls.reviewed, "opened");
  await concluded(scene, pulls.reviewed);
  const dismissed = pulls.reviewed.reviewComments.find(({ anchor }) => anchor?.line === faults.dismissed);
  if (!dismissed) throw new Error("The review has no comment on the line that is to be dismissed");
  people.reply(dismissed, "carol", "Won't fix.");
  mendFirst(scene);
  await scene.tell(pulls.reviewed, "synchronize");
  await concluded(scene, pulls.reviewed);

  await scene.tell(pulls.paused, "opened");
  await concluded(scene, pulls.paused);
  await scene.comment(pulls.paused, "carol", "/pause");
  await github.until(() => pulls.paused.comments.some(({ body }) => /paused/i.test(body)));

  scene.holdRunning();
  await scene.tell(pulls.running, "opened", {}, runningDelivery);
  while (scene.asked(pulls.running) <= turnsBeforeKill) await sleep(50);
  const status = await scene.tell(pulls.waiting, "opened");
  if (status !== 202) throw new Error(`The event of the pull request that waits was answered with ${status}`);
  await scene.server?.kill();
  if (checkOf(pulls.waiting)) throw new Error("The pull request that waits has a check run");

  keepGitHub(scene, join(folder, "github.json"));
  keepFolder(scene.data.path, join(folder, "data.tar.gz"));
  if (databaseUrl === null) return;
  const schema = [
    "CREATE SCHEMA hunkwise;",
    "SET search_path TO hunkwise;",
    "CREATE TABLE version (steps BIGINT NOT NULL);",
    ...postgresMigrations,
  ];
  writeFileSync(join(folder, "database.sql"), `${schema.join("\n")}\n${await keepRows(databaseUrl)}`);
}

const [folder] = process.argv.slice(2);
if (!folder)
  throw new Error("Name the folder to write: node scripts/record-upgrade.ts fixtures/upgrade/VERSION");
await record(join(folder, "sqlite"), null);
await using postgres = await startPostgres();
await record(join(folder, "postgres"), await postgres.createDatabase());
