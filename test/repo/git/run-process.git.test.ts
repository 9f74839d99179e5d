import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { byNul, LineSplitter } from "../../../src/repo/git/run-process.ts";

/** The lines of a stream that comes in these pieces. */
function linesOf(pieces: readonly Buffer[], options?: ConstructorParameters<typeof LineSplitter>[1]) {
  const lines: string[] = [];
  const splitter = new LineSplitter((line) => void lines.push(line.toString("latin1")), options);
  for (const piece of pieces) splitter.push(piece);
  return lines;
}

const pieces = fc.array(
  fc
    .array(fc.constantFrom("a", "bc", "\n", "\0"), { maxLength: 6 })
    .map((parts) => Buffer.from(parts.join(""))),
);
/** All that an end follows. */
const cut = (bytes: readonly Buffer[], end: string) =>
  Buffer.concat(bytes).toString("latin1").split(end).slice(0, -1);

describe("LineSplitter", () => {
  it("LineSplitter finds the same lines in pieces of any size", () => {
    fc.assert(
      fc.property(pieces, (some) => {
        expect(linesOf(some)).toEqual(cut(some, "\n"));
        expect(linesOf(some, byNul)).toEqual(cut(some, "\0"));
      }),
    );
  });

  it("LineSplitter takes two ends in turn", () => {
    fc.assert(
      fc.property(pieces, (some) => {
        const expected: string[] = [];
        let rest = Buffer.concat(some).toString("latin1");
        for (let end = "\0"; rest.includes(end); end = end === "\0" ? "\n" : "\0") {
          expected.push(rest.slice(0, rest.indexOf(end)));
          rest = rest.slice(rest.indexOf(end) + 1);
        }
        expect(linesOf(some, { ends: [0, 10] })).toEqual(expected);
      }),
    );
  });

  it("LineSplitter leaves out only the lines that are too long", () => {
    fc.assert(
      fc.property(pieces, (some) => {
        const fitting = cut(some, "\n").filter((line) => line.length <= 3);
        expect(linesOf(some, { maxBytes: 3 })).toEqual(fitting);
      }),
    );
  });

  it("LineSplitter hands on nothing after it is stopped", () => {
    const lines: string[] = [];
    const splitter = new LineSplitter((line) => {
      lines.push(line.toString());
      return lines.length === 2 ? "stop" : undefined;
    });
    expect(splitter.push(Buffer.from("a\nb\nc\n"))).toBe("stop");
    expect(lines).toEqual(["a", "b"]);
  });
});
