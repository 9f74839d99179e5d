import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sharedPostgres } from "../support/postgres.ts";
import { numbers, patient } from "./conformance-fixture.ts";
import {
  checkOf,
  concluded,
  faults,
  firstHead,
  mended,
  mendFirst,
  moveTimes,
  path,
  reads,
  restoreFolder,
  restoreGitHub,
  restoreRows,
  reviewedFiles,
  runningDelivery,
  type Scene,
  setScene,
} from "./upgrade-scene.ts";

const long = process.env.HUNKWISE_LONG === "1";

/*
 * Data folders, databases and comments of earlier versions, each left by a server that was killed during a review: `fixtures/upgrade`.
 */

const folder = join(import.meta.dirname, "../../fixtures/upgrade");
const versions = readdirSync(folder);

async function afterUpgrade(version: string, database: "sqlite" | "postgres"): Promise<Scene> {
  const kept = join(folder, version, database);
  const url = database === "sqlite" ? null : await (await sharedPostgres()).createDatabase();
  const scene = await setScene(url);
  mendFirst(scene);
  const recordedAt = restoreGitHub(scene, join(kept, "github.json"));
  restoreFolder(join(kept, "data.tar.gz"), scene.data.path);
  const byMs = Date.now() - recordedAt;
  if (url === null) moveTimes(scene.data.path, byMs);
  else await restoreRows(url, join(kept, "database.sql"), byMs);
  await scene.start();
  return scene;
}

const linesOf = ({ pulls, app }: Scene, name: keyof Scene["pulls"]) =>
  pulls[name].reviewComments
    .filter(({ via, inReplyTo }) => via === app && !inReplyTo)
    .map(({ anchor }) => anchor?.line);

describe.each(
  versions.flatMap((version) =>
    (long ? (["sqlite", "postgres"] as const) : (["sqlite"] as const)).map(
      (database) => [version, database] as const,
    ),
  ),
)("what version %s left on %s", patient, (version, database) => {
  it("is continued: the review in progress is read once with the new instructions, waiting pull requests are reviewed, and nothing is posted twice", async () => {
    await using scene = await afterUpgrade(version, database);
    const { pulls, people, github } = scene;

    await concluded(scene, pulls.running);
    await concluded(scene, pulls.waiting);
    // The instructions of that version differ, so its turns are no answer to the present ones: the reads, the end, and the second look.
    expect(scene.asked(pulls.running)).toBeLessThanOrEqual(reads + 2);
    expect(linesOf(scene, "running")).toEqual([80]);
    expect(linesOf(scene, "waiting")).toEqual([40]);
    expect([checkOf(pulls.running)?.conclusion, checkOf(pulls.waiting)?.conclusion]).toEqual([
      "failure",
      "failure",
    ]);

    const asked = scene.asked(pulls.running);
    await scene.tell(pulls.running, "opened", {}, runningDelivery);

    // A paused pull request stays paused.
    people.push(pulls.paused, { [path]: numbers(120, { 11: "const n11 = 0;" }) });
    const askedOfPaused = scene.asked(pulls.paused);
    await scene.tell(pulls.paused, "synchronize");

    // In the reviewed one, one fault is fixed, and the one that carol dismissed stays dismissed.
    expect(linesOf(scene, "reviewed")).toEqual(Object.values(faults));
    people.push(pulls.reviewed, reviewedFiles({ ...firstHead, 10: mended, 80: "const n80 = 80.0;" }));
    await scene.tell(pulls.reviewed, "synchronize");
    await concluded(scene, pulls.reviewed);
    expect(linesOf(scene, "reviewed")).toEqual(Object.values(faults));

    expect(scene.asked(pulls.running)).toBe(asked);
    expect(scene.asked(pulls.paused)).toBe(askedOfPaused);
    expect(github.violations).toEqual([]);
    expect(scene.model.complaints).toEqual([]);
  });
});
