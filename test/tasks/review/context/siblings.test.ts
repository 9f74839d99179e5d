import { describe, expect, it } from "vitest";
import { areTwins } from "../../../../src/tasks/review/context/siblings.ts";

describe("two names are those of counterparts", () => {
  it.each([
    ["createRow", "deleteRow"],
    ["open_file", "close_file"],
    ["EncodeKey", "DecodeKey"],
    ["readAll", "readAllSync"],
    ["getOwner", "createOwner"],
  ])("%s and %s", (one, other) => expect(areTwins(one, other)).toBe(true));

  it.each([
    ["createRow", "createRow"],
    ["createRow", "deleteColumn"],
    ["open", "close"],
    ["createRow", "sortRow"],
  ])("not %s and %s", (one, other) => expect(areTwins(one, other)).toBe(false));
});
