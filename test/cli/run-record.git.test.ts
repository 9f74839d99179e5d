import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { headerLine, readRunFile } from "../../src/cli/run-record.ts";
import { TempFolder } from "../support/git-repo.ts";

const began_at = "2026-11-22T20:00:00.000Z";
const header: Parameters<typeof headerLine>[0] = {
  ...{ kind: "record", format: 1, version: "0.1.0", id: "20261122-200000-0a1b2c", source: "local" },
  ...{
    task: "review",
    repository: "/src/shop",
    requested_by: null,
    pull: null,
    range: "main...topic",
    began_at,
  },
};
const shas = { head: "a".repeat(40), base: "b".repeat(40), mergeBase: "b".repeat(40) };
const run = { kind: "run", shas, input: {}, at: 1, claim: 1 };

let folder: TempFolder;
beforeEach(() => {
  folder = new TempFolder("run-file");
});
afterEach(() => folder.dispose());

function written(...lines: (object | string)[]): string {
  const path = join(folder.path, "run.jsonl");
  const texts = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
  writeFileSync(path, headerLine(header) + texts.map((text) => `${text}\n`).join(""));
  return path;
}

describe("A record in a file", () => {
  it("A record keeps unknown fields, and ignores half a line at its end", async () => {
    const later = { ...run, told_by: "a later version" };
    const path = written(later);
    writeFileSync(path, '{"kind":"tur', { flag: "a" });
    const { at, claim, ...entry } = later;
    expect(await readRunFile(path)).toEqual({
      header,
      entries: [{ at, claim, entry }],
    });
  });

  it.each([
    ["a time that is none", { ...run, at: 1e300 }, /at at/],
    ["a time before there were any", { ...run, at: -1 }, /at at/],
    ["an entry of no kind", { at: 1, claim: 1 }, /at kind/],
    ["a list", "[]", /expected object/],
    ["nothing", "", /end of JSON/],
  ])("A record is refused by the line that contains %s", async (_, line, why) => {
    const refused = expect(readRunFile(written(run, line))).rejects;
    await refused.toMatchObject({
      code: "usage",
      message: expect.stringMatching(/run\.jsonl:3 is not a valid line/),
    });
    await expect(readRunFile(written(run, line))).rejects.toThrow(why);
  });

  it("A record is refused if its first line is no header", async () => {
    const path = written();
    for (const first of ["", "{}", JSON.stringify({ ...header, began_at: "once" }), "x".repeat(100_000)]) {
      writeFileSync(path, `${first}\n`);
      await expect(readRunFile(path)).rejects.toThrow(/run\.jsonl:1 is not a valid line of a record/);
    }
  });
});
