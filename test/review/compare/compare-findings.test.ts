import { describe, expect, it } from "vitest";
import { codeHash } from "../../../src/ledger/entry.ts";
import type { AnchorFile } from "../../../src/review/anchor.ts";
import { locate } from "../../../src/review/compare/compare-findings.ts";
import { earlierFinding } from "./earlier-finding.ts";

const head = [
  ...["export function total(prices: number[]) {", "  let sum = 0;", "  for (const price of prices)"],
  ...["    sum -=", "      price;", "  return sum;", "}", ""],
  ...["export function count(prices: number[]) {", "  return prices.length;", "}"],
];
const fileOf = (lines: string[] | null): AnchorFile => ({
  ...{ path: "a.ts", paths: ["a.ts"], inChange: true, hidden: null, hunks: [] },
  lines: { RIGHT: lines, LEFT: null },
  hunkAt: () => undefined,
  isRemoved: () => false,
});
const file = fileOf(head);
const told = (over: Parameters<typeof earlierFinding>[0]) => earlierFinding({ line: null, ...over });

describe("the code of an earlier finding", () => {
  it("stands where GitHub has its line, as long as that is the same code", async () => {
    const length = codeHash("return prices.length;");

    expect(await locate(file, told({ line: 10, code: length }))).toEqual({ start: 10, end: 10 });
    expect(await locate(file, told({ line: 6, code: length, symbol: null }))).toEqual({ start: 10, end: 10 });
  });

  it("is found in its definition when it was wrapped or has moved", async () => {
    expect(await locate(file, told({ original_line: 400 }))).toEqual({ start: 4, end: 5 });
  });

  it("is taken to stand where GitHub says when nothing tells what it was", async () => {
    expect(await locate(file, told({ line: 2, code: null }))).toEqual({ start: 2, end: 2 });
    expect(await locate(file, told({ code: null }))).toBeNull();
  });

  it("of several places is the nearest to the old one", async () => {
    const twice = fileOf(["a();", ...Array.from({ length: 40 }, () => "b();"), "a();"]);
    const where = (original_line: number) =>
      locate(twice, told({ original_line, symbol: null, code: codeHash("a();") }));

    expect(await where(30)).toEqual({ start: 42, end: 42 });
    expect(await where(9)).toEqual({ start: 1, end: 1 });
  });

  it("is gone with its definition's words, with its file, and on a side that has none", async () => {
    expect(await locate(fileOf(["export function total() {", "  return 1;", "}"]), told({}))).toBeNull();
    expect(await locate(undefined, told({}))).toBeNull();
    expect(await locate(file, told({ side: "LEFT", line: 4 }))).toBeNull();
  });

  it("is looked for in bounded time, whatever a file holds", async () => {
    const dense = fileOf(Array.from({ length: 200_000 }, (_, at) => `call(${at % 7});`));
    const wide = fileOf(Array.from({ length: 300 }, () => "x".repeat(100_000)));

    expect(await locate(dense, told({ original_line: null, symbol: null }))).toBeNull();
    expect(await locate(wide, told({ original_line: 150, symbol: null }))).toBeNull();
  });
});
