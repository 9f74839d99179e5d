import { describe, expect, it } from "vitest";
import { areTwins } from "../../../../src/tasks/review/context/surroundings.ts";

describe("areTwins", () => {
  it.each([
    ["createRow", "deleteRow"],
    ["open_file", "close_file"],
    ["EncodeKey", "DecodeKey"],
    ["readAll", "readAllSync"],
    ["getOwner", "createOwner"],
  ])("%s and %s are counterparts", (one, other) => expect(areTwins(one, other)).toBe(true));

  it.each([
    ["createRow", "createRow"],
    ["createRow", "deleteColumn"],
    ["open", "close"],
    ["createRow", "sortRow"],
  ])("%s and %s are no counterparts", (one, other) => expect(areTwins(one, other)).toBe(false));
});
