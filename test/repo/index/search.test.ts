import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, it } from "vitest";
import { expressionFor } from "../../../src/repo/index/search.ts";

const texts = [
  ["open ledger", "invoice total"],
  ["open invoice", "nothing else"],
  ["ledger invoice", "total of all"],
  ["close", "ledger invoice total"],
  ["close total", "nothing else"],
  ["rare", "invoice"],
  ["close all", "nothing else"],
] as const;

describe("the full-text expression for a query", () => {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE VIRTUAL TABLE words USING fts5(name, text, content='', tokenize='porter unicode61')");
  for (const row of texts) database.prepare("INSERT INTO words (name, text) VALUES (?, ?)").run(...row);
  afterAll(() => database.close());

  const rowsOf = (expression: string) =>
    database
      .prepare("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid")
      .all(expression)
      .map(({ rowid }) => Number(rowid));
  /** As if each row stood there so many times. */
  const counting = (times: number) => (expression: string, most: number) =>
    Math.min(most, rowsOf(expression).length * times);

  it("The full-text expression for a query matches every row with a rare word", () => {
    const expression = expressionFor(["invoice", "ledger"], counting(1), 1);
    expect(rowsOf(expression)).toEqual([1, 2, 3, 4, 6]);
  });

  it("The full-text expression wants frequent words in a name, next to others", () => {
    const expression = expressionFor(["invoice", "ledger", "total"], counting(1_000), 2);
    expect(rowsOf(expression)).toEqual([1, 3]);
  });

  it("The full-text expression becomes wider if too little matches", () => {
    const found = (wanted: number) =>
      rowsOf(expressionFor(["invoice", "ledger", "total"], counting(1_000), wanted * 1_000));
    expect(found(3)).toEqual([1, 3, 4]);
    expect(found(7)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("The full-text expression matches a single frequent word in names first", () => {
    expect(rowsOf(expressionFor(["invoice"], counting(2_000), 2_000))).toEqual([2, 3]);
    expect(rowsOf(expressionFor(["invoice"], counting(2_000), 5_000))).toEqual([1, 2, 3, 4, 6]);
  });

  it("The full-text expression for a query leaves out no row with a rare word", () => {
    const expression = expressionFor(["rare", "total", "invoice"], counting(1_000), 1);
    expect(rowsOf(expression)).toContain(6);
  });

  it("The full-text expression for a query cannot be ended by a quote in a word", () => {
    expect(rowsOf(expressionFor(['ledger" OR "close'], counting(1), 1))).toEqual([]);
  });
});
