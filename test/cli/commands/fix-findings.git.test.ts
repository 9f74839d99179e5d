import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { findingsToFix } from "../../../src/cli/commands/fix.ts";
import { entryLine, headerLine, newRunId, runPath } from "../../../src/cli/run-record.ts";
import { toReviewJson } from "../../../src/report/json.ts";
import { sampleFinding, sampleResult } from "../../report/sample-result.ts";
import { TempFolder } from "../../support/git-repo.ts";

const folder = new TempFolder("findings-to-fix");
afterAll(() => folder.dispose());

const head = "b".repeat(40);
const reviewOf = (ids: readonly string[], head_sha = head) =>
  sampleResult({
    head_sha,
    findings: ids.map((id) => ({ finding: sampleFinding({ id }), placement: { kind: "inline" as const } })),
  });

/** Leaves the record of a review, the later ones of a later hour. */
function record(hour: number, ids: readonly string[], head_sha = head): void {
  const began = new Date(Date.UTC(2026, 10, 22, hour));
  const id = newRunId(began);
  const header = headerLine({
    ...{ kind: "record", format: 1, version: "0", id, source: "local", task: "review", repository: "." },
    ...{ requested_by: null, pull: null, range: "main...topic", began_at: began.toISOString() },
  });
  const result = reviewOf(ids, head_sha);
  const entry = { kind: "result" as const, head: head_sha, base: "a".repeat(40), result };
  writeFileSync(runPath(folder.path, id), header + entryLine({ at: 0, claim: 0, entry }));
}

/** As a later version prints it, with fields that nobody here knows. */
const printed = (ids: readonly string[]) => ({
  ...toReviewJson(reviewOf(ids), { version: "9.0.0", exit: null }),
  later: true,
});

const query = { id: "all", file: undefined, folder: folder.path, head };
const idsOf = async (over: Partial<typeof query> = {}) =>
  (await findingsToFix({ ...query, ...over })).map(({ id }) => id);

describe("The findings to repair", () => {
  it("The findings are those of the newest recorded review of the head", async () => {
    await expect(idsOf()).rejects.toMatchObject({
      code: "usage",
      message: expect.stringContaining("on record"),
    });
    record(8, ["old"]);
    record(9, ["f1", "f2"]);
    record(10, ["other"], "c".repeat(40));
    expect(await idsOf()).toEqual(["f1", "f2"]);
    expect(await idsOf({ id: "f2" })).toEqual(["f2"]);
    const about = `src/cart.ts:6 ${sampleFinding({}).title}`;
    await expect(idsOf({ id: "f3" })).rejects.toMatchObject({
      message: "there is no finding 'f3' to repair",
      remedy: `The findings are: f1 ${about}; f2 ${about}`,
    });
  });

  it("The findings cannot be looked up without records, and the remedy works without them too", async () => {
    await expect(findingsToFix({ ...query, folder: null })).rejects.toMatchObject({
      message: expect.stringContaining("on record"),
      remedy: expect.stringMatching(/run hunkwise review --committed --output .* --from\.$/),
    });
  });

  it("The findings are none if the review found none, and the error says so", async () => {
    record(11, [], "d".repeat(40));
    await expect(idsOf({ head: "d".repeat(40) })).rejects.toMatchObject({
      message: "the review of dddddddddddd has no findings to repair",
    });
  });

  it("The findings are found behind records that are damaged or deleted", async () => {
    record(9, ["f1", "f2"]);
    writeFileSync(runPath(folder.path, newRunId(new Date(Date.UTC(2026, 10, 22, 11)))), "{}\n");
    symlinkSync("gone", runPath(folder.path, newRunId(new Date(Date.UTC(2026, 10, 22, 12)))));
    expect(await idsOf()).toEqual(["f1", "f2"]);
  });

  it("The findings may come from a printed review of that head alone", async () => {
    const file = join(folder.path, "review.json");
    const from = (over: object = {}) => findingsToFix({ ...query, file, ...over });
    writeFileSync(file, JSON.stringify(printed(["f1"])));
    expect(await from()).toMatchObject([{ id: "f1", path: "src/cart.ts", line: 6, side: "RIGHT" }]);
    await expect(from({ head: "d".repeat(40) })).rejects.toMatchObject({
      message: "the report is about the commit bbbbbbbbbbbb, but the head is dddddddddddd",
    });
    for (const broken of ["{}", "no JSON", '{"findings": []}']) {
      writeFileSync(file, broken);
      await expect(from()).rejects.toThrow("is not the JSON report of a review");
    }
    await expect(from({ file: join(folder.path, "none.json") })).rejects.toMatchObject({ code: "usage" });
  });
});
