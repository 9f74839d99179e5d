import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { byteLength } from "../../../../src/core/text/cut.ts";
import { escapeInvisible } from "../../../../src/core/text/escape-invisible.ts";
import type { TextFile } from "../../../../src/repo/code/code-file.ts";
import { joined } from "../../../../src/tasks/review/context/lookup.ts";
import {
  kinds,
  type Piece,
  renderSelection,
  roomOf,
  ShownLines,
  selectPieces,
} from "../../../../src/tasks/review/context/pieces.ts";

const line = fc.oneof(
  fc.constantFrom("", "}", "return x;", "  // é 漢", "\u200b\u0000\r", "x".repeat(900)),
  fc.string({ maxLength: 40 }).map((text) => text.replaceAll("\n", " ")),
);
const file: fc.Arbitrary<TextFile> = fc.record({
  path: fc.constantFrom("a.ts", "b/c.ts", "odd\nname.ts"),
  ref: fc.constantFrom("head", "merge_base"),
  lines: fc.array(line, { minLength: 1, maxLength: 60 }),
});

/** Files of one path and revision have one text. */
const files = fc.uniqueArray(file, {
  selector: ({ path, ref }) => `${ref} ${path}`,
  minLength: 1,
  maxLength: 6,
});

const piecesOf = (all: readonly TextFile[]): fc.Arbitrary<Piece[]> =>
  fc.array(
    fc
      .record({
        file: fc.constantFrom(...all),
        kind: fc.constantFrom(...kinds),
        starts: fc.uniqueArray(fc.nat(59), { minLength: 1, maxLength: 3 }),
        score: fc.double({ min: 0, max: 1, noNaN: true }),
        mayBeCut: fc.boolean(),
        mayHave: fc.boolean(),
        subject: fc.constantFrom("next", "open"),
      })
      .map(({ starts, mayHave, ...piece }) => {
        const last = piece.file.lines.length;
        const ranges = joined(
          starts.map((at) => ({ start: (at % last) + 1, end: (at % last) + 5 })),
          last,
        );
        const extent = ranges[0] && mayHave ? { start: ranges[0].start, end: last } : null;
        return { ...piece, ranges, extent, line: ranges[0]?.start ?? 1, title: `uses ${piece.subject}` };
      }),
    { maxLength: 30 },
  );

const selections = files.chain((all) =>
  fc.record({ pieces: piecesOf(all), bytes: fc.integer({ min: 500, max: 9_000 }) }),
);

function textOf(pieces: readonly Piece[], maxBytes: number): string {
  const room = roomOf(maxBytes);
  return renderSelection(
    selectPieces(pieces, new ShownLines(), room.pieces),
    room.named,
    ({ lines }, line) => {
      return lines.length > 3 && line % 3 === 0;
    },
  );
}

describe("selectPieces", () => {
  it("Selected pieces take no more bytes than allowed, as a model sees them", () => {
    fc.assert(
      fc.property(selections, ({ pieces, bytes }) => {
        expect(byteLength(escapeInvisible(textOf(pieces, bytes)))).toBeLessThanOrEqual(bytes);
      }),
    );
  });

  it("No line is shown twice", () => {
    fc.assert(
      fc.property(selections, ({ pieces, bytes }) => {
        const shown = new ShownLines();
        const [first] = pieces;
        if (first) shown.add(first.file, 1);
        const { taken } = selectPieces(pieces, shown, bytes);
        const lines = taken.flatMap((piece) =>
          piece.shown.flatMap(({ start, end }) =>
            Array.from(
              { length: end - start + 1 },
              (_, at) => `${piece.file.ref} ${piece.file.path} ${start + at}`,
            ),
          ),
        );
        expect(new Set(lines).size).toBe(lines.length);
        if (first) expect(lines).not.toContain(`${first.file.ref} ${first.file.path} 1`);
      }),
    );
  });

  it("The selection does not depend on the order of the pieces", () => {
    fc.assert(
      fc.property(selections, fc.infiniteStream(fc.nat()), ({ pieces, bytes }, random) => {
        // What differs in nothing that the order looks at is one piece found twice.
        const key = (one: Piece) => [one.score, one.file.path, one.line, one.kind].join(" ");
        const unlike = [...new Map(pieces.map((one) => [key(one), one])).values()];
        const shuffled = unlike
          .map((one) => ({ one, at: random.next().value as number }))
          .sort((a, b) => a.at - b.at)
          .map(({ one }) => one);
        expect(textOf(shuffled, bytes)).toBe(textOf(unlike, bytes));
      }),
    );
  });
});

const numbers: TextFile = {
  path: "n.ts",
  ref: "head",
  lines: Array.from({ length: 200 }, (_, at) => `line number ${at + 1}`),
};
const piece = (over: Partial<Piece>): Piece => ({
  kind: "caller",
  file: numbers,
  ranges: [{ start: 1, end: 10 }],
  extent: null,
  line: 1,
  subject: "next",
  title: "uses next",
  score: 0.5,
  mayBeCut: false,
  ...over,
});

describe("pieces without room", () => {
  it("A piece without room is named with its place, a line for each name", () => {
    const far = [50, 90].map((start) =>
      piece({ ranges: [{ start, end: start + 60 }], line: start, score: 0.4 }),
    );
    const text = textOf([piece({}), ...far], 1_200);
    expect(text).toContain("### n.ts:1-10 uses next");
    expect(text).toMatch(/## Not shown\ncaller of next: n\.ts:50, 90$/);
  });

  it("A piece is named once, and not if it is shown for another reason", () => {
    const rest = [60, 60, 5].map((line) =>
      piece({ kind: "test", line, score: 0.05, ranges: [{ start: 60, end: 61 }] }),
    );
    const text = textOf([piece({}), ...rest], 2_000);
    expect(text).toMatch(/## Not shown\ntest of next: n\.ts:60$/);
  });

  it("The bodies of a large change leave room for what they are to be compared with", () => {
    const long = (path: string) => ({
      ...numbers,
      path,
      lines: Array.from({ length: 60 }, () => "x".repeat(90)),
    });
    const bodies = Array.from({ length: 9 }, (_, at) =>
      piece({ kind: "body", file: long(`${at}.ts`), ranges: [{ start: 1, end: 60 }], score: 0.9 }),
    );
    const twin = piece({
      kind: "sibling",
      file: long("twin.ts"),
      ranges: [{ start: 1, end: 20 }],
      score: 0.3,
    });
    expect(textOf([...bodies, twin], 20_000)).toContain("### twin.ts:1-20");
  });

  it("A piece needs a lower score as long as little is shown", () => {
    const weak = (at: number) => piece({ line: at, score: 0.1, ranges: [{ start: at, end: at + 9 }] });
    const long = { ...numbers, path: "long.ts", lines: Array.from({ length: 200 }, () => "x".repeat(390)) };
    const many = piece({ file: long, ranges: [{ start: 1, end: 40 }], score: 0.9 });
    expect(textOf([weak(20)], 40_000)).toContain("### n.ts:20-29 uses next");
    expect(textOf([many, weak(20)], 40_000)).toContain("caller of next: n.ts:20");
  });

  it("A callee without room is named among the other calls", () => {
    const calls = [50, 70].map((line) =>
      piece({
        kind: "callee",
        line,
        score: 0.05,
        ranges: [{ start: line, end: line }],
        subject: `call${line}`,
      }),
    );
    expect(textOf(calls, 2_000)).toBe("## Not shown\nalso calls: call50 (n.ts:50), call70 (n.ts:70)");
  });

  it("The names take few bytes, however many there are", () => {
    const many = Array.from({ length: 150 }, (_, at) =>
      piece({ line: at + 1, score: 0.05, ranges: [{ start: at + 1, end: at + 1 }], subject: `name${at}` }),
    );
    const text = textOf(many, 40_000);
    expect(text).toContain("caller of name0: n.ts:1\n");
    expect(text.length).toBeLessThanOrEqual(600);
  });

  it("A piece is cut after a line if its beginning is useful, and says where it ends", () => {
    const extent = { start: 1, end: 200 };
    const body = piece({ kind: "callee", ranges: [extent], extent, mayBeCut: true });
    const lines = textOf([body], 1_500).split("\n");
    expect(lines.filter((one) => /^\d+\+?\|line number \d+$/.test(one)).length).toBeGreaterThan(10);
    expect(lines[1]).toMatch(/^### n\.ts:1-200 uses next, shown to line \d+$/);
    expect(lines.at(-1)).toBe("...");
    expect(Number(/(\d+)$/.exec(lines[1] ?? "")?.[1])).toBe(Number.parseInt(lines.at(-2) ?? "", 10));
  });

  it("A piece whose rest the diff shows is not cut", () => {
    const extent = { start: 1, end: 12 };
    const shown = new ShownLines();
    shown.addAll(numbers, [{ start: 8, end: 12 }]);
    const { taken } = selectPieces([piece({ ranges: [{ start: 1, end: 7 }], extent })], shown, 2_000);
    expect(taken.map(({ isCut }) => isCut)).toEqual([false]);
  });
});
