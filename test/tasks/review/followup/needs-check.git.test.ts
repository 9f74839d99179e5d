import { describe, expect, it } from "vitest";
import type { PostedFinding } from "../../../../src/core/ledger/entry.ts";
import type { FileDiff } from "../../../../src/repo/diff/file-diff.ts";
import type { KnownChange } from "../../../../src/tasks/loop/review-run.ts";
import { needsCheck } from "../../../../src/tasks/review/followup/later-findings.ts";
import { changedFile } from "../plan/changed-file.ts";
import { comment } from "./later-round.ts";
import { contentHash } from "./rounds.ts";

const code = [
  ...["export function total() {", ...Array.from({ length: 60 }, (_, at) => `  step(${at});`), "}"],
  ...Array.from({ length: 60 }, (_, at) => `other(${at});`),
];

interface Facts {
  /** First lines of hunks of three lines; the second of them is new. */
  hunks?: [number, number];
  lost?: string[];
  changed?: string[];
  isFirst?: boolean;
}

function change({ lost = [], changed = [], isFirst = false }: Facts): KnownChange {
  return {
    files: [changedFile({ path: "cart.ts" }), changedFile({ path: "other.ts" })],
    known: {
      ...{ isFirst, contentHash },
      known: () => new Set([1]),
      hasNew: (path) => changed.includes(path),
      hasLost: (path) => lost.includes(path),
      isKnownLine: async () => false,
      isOldNews: async () => false,
    },
    anchorFile: async () => ({
      ...{ path: "cart.ts", paths: ["cart.ts"], inChange: true, hidden: null, hunks: [] },
      ...{ lines: { RIGHT: code, LEFT: null }, hunkAt: () => undefined, isRemoved: () => false },
    }),
  };
}

const diffsOf = ({ hunks = [400, 500] }: Facts) => ({
  fileDiff: async () =>
    ({
      hunks: hunks.map((start) => ({ newStart: start, newLines: 3, oldStart: start, oldLines: 3 })),
    }) as unknown as FileDiff,
});

const there = { start: 50, end: 50 };
const check = (facts: Facts, over: Partial<PostedFinding> = {}, place: typeof there | null = there) =>
  needsCheck(change(facts), diffsOf(facts), comment(over), place);
const changed = ["cart.ts"];

describe("needsCheck", () => {
  it("A finding whose code is gone is checked if its file or its evidence has something new or lost", async () => {
    expect(await check({}, {}, null)).toBe(false);
    expect(await check({}, { state: "outdated", code: null }, null)).toBe(false);
    expect(await check({ changed }, {}, null)).toBe(true);
    expect(await check({ lost: changed }, { state: "outdated", code: null }, null)).toBe(true);
    expect(await check({ changed: ["other.ts"] }, { files: ["other.ts"] }, null)).toBe(true);
    expect(await check({ lost: ["other.ts"] }, { files: ["other.ts"] }, null)).toBe(true);
    // Of a comment on a file of which nothing more is known nobody can tell.
    expect(await check({}, { code: null }, null)).toBe(false);
    expect(await check({ changed }, { code: null }, null)).toBe(true);
  });

  it("A finding is checked for new code in its definition or within fifteen lines, not for code that was read", async () => {
    expect(await check({ changed, hunks: [400, 5] })).toBe(true);
    expect(await check({ changed, hunks: [400, 64] })).toBe(true);
    expect(await check({ changed, hunks: [400, 70] })).toBe(false);
    expect(await check({ changed, hunks: [5, 400] })).toBe(false);
    expect(await check({ changed, hunks: [400, 5] }, { symbol: "gone" })).toBe(false);
  });

  it("A finding is checked if its file, and no other one, lost a reviewed change", async () => {
    expect(await check({ lost: ["cart.ts"] })).toBe(true);
    expect(await check({ lost: ["other.ts"] })).toBe(false);
  });

  it("Without a remembered review, only an outdated finding or one whose code is gone is checked", async () => {
    const facts = { isFirst: true, changed, hunks: [50, 50] as [number, number], lost: ["cart.ts"] };

    expect(await check(facts)).toBe(false);
    expect(await check(facts, { state: "outdated" })).toBe(true);
    expect(await check(facts, {}, null)).toBe(true);
  });
});
