import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, it } from "vitest";
import { expressionFor } from "../../src/graph/search.ts";

const texts = [
  ["open ledger", "invoice total"],
  ["open invoice", "nothing else"],
  ["ledger invoice", "total of all"],
  ["close", "ledger invoice total"],
  ["close total", "nothing else"],
  ["rare", "invoice"],
  ["close all", "nothing else"],
] as const;

describe("the expression for the words of a question", () => {
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

  it("asks for each row with any of them where these are few", () => {
    const expression = expressionFor(["invoice", "ledger"], counting(1), 1);
    expect(rowsOf(expression)).toEqual([1, 2, 3, 4, 6]);
  });

  it("asks of frequent ones for those in a name that the others stand beside, or for two in a name", () => {
    const expression = expressionFor(["invoice", "ledger", "total"], counting(1_000), 2);
    expect(rowsOf(expression)).toEqual([1, 3]);
  });

  it("asks for more where those are not enough", () => {
    const found = (wanted: number) =>
      rowsOf(expressionFor(["invoice", "ledger", "total"], counting(1_000), wanted * 1_000));
    expect(found(3)).toEqual([1, 3, 4]);
    expect(found(7)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("asks for a single frequent one in names alone, where there are enough", () => {
    expect(rowsOf(expressionFor(["invoice"], counting(2_000), 2_000))).toEqual([2, 3]);
    expect(rowsOf(expressionFor(["invoice"], counting(2_000), 5_000))).toEqual([1, 2, 3, 4, 6]);
  });

  it("leaves out no row with a rare one", () => {
    const expression = expressionFor(["rare", "total", "invoice"], counting(1_000), 1);
    expect(rowsOf(expression)).toContain(6);
  });

  it("takes quotes for nothing that they could end", () => {
    expect(rowsOf(expressionFor(['ledger" OR "close'], counting(1), 1))).toEqual([]);
  });
});
