import { describe, expect, it } from "vitest";
import { titlesAlike } from "../../../src/review/compare/titles.ts";

describe("two titles", () => {
  it.each([
    ["are the same", "The last line is never counted", "the last line is  never counted"],
    ["differ in small words", "The last line is never counted", "Last line never counted"],
    ["differ in one word", "The last line is never counted", "The last line is not counted"],
    ["name the same code", "`parseLine` drops the last line", "parseLine drops the very last line"],
  ])("say the same where they %s", (_, one, other) => {
    expect(titlesAlike(one, other)).toBe(true);
    expect(titlesAlike(other, one)).toBe(true);
  });

  it.each([
    ["share few words", "The last line is never counted", "An empty cart divides by zero"],
    ["name other numbers", "The retry waits 10 seconds", "The retry waits 20 seconds"],
    ["name other code", "`maxItems` is never checked", "`minItems` is never checked"],
    ["have no word", "", ""],
  ])("say something else where they %s", (_, one, other) => {
    expect(titlesAlike(one, other)).toBe(false);
    expect(titlesAlike(other, one)).toBe(false);
  });
});
