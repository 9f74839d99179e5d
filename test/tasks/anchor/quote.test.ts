import { describe, expect, it } from "vitest";
import { showNearLines } from "../../../src/tasks/anchor/quote.ts";

/** The numbers of the lines that are shown for a quote of a file without a left side. */
function numbers(lines: string[], text: string, line: number): number[] {
  const file = { lines: { RIGHT: lines, LEFT: null }, isRemoved: () => false };
  return Array.from(showNearLines(file, "RIGHT", line, [text]).matchAll(/^(\d+)\|/gm), ([, number]) =>
    Number(number),
  );
}

describe("the nearest lines", () => {
  it("Lines with the most similar text are shown, and none that has little of it", () => {
    const lines = [
      "import fs",
      "const total = sum(items);",
      "return total;",
      "const totals = sum(item);",
      "}",
    ];

    expect(numbers(lines, "const total = add(items);", 1)).toEqual([2, 4]);
  });

  it("A line with a misspelled word is shown", () => {
    expect(numbers(["recieveMessage()", "sendMessage()", "x"], "receiveMesage()", 3)).toContain(1);
  });

  it("White space does not count", () => {
    expect(numbers(["if (a)", "\t\tif  (a)\r", "if (b)"], "  if (a)", 1).slice(0, 2)).toEqual([1, 2]);
  });

  it("Of lines that are equally similar, the nearer ones come first", () => {
    const lines = Array.from({ length: 3_000 }, (_, index) => (index % 2 ? "guard(first);" : "}"));

    expect(numbers(lines, "guard(frist);", 2_000)).toEqual([2_000, 1_998, 2_002, 1_996, 2_004]);
  });

  it("A huge file is searched around the stated line, and a line of a megabyte in part", () => {
    const lines = Array.from(
      { length: 200_000 },
      (_, index) => `const value${index} = compute(${index}, "text");`,
    );
    lines[150_000] = `const wanted = compute(${"y".repeat(1_000_000)}`;

    expect(numbers(lines, `const wanted = compute(${"y".repeat(8_000)}`, 147_000)).toEqual([150_001]);
    expect(numbers(lines, 'const value777 = compute(777, "test");', 1)[0]).toBe(778);
  });

  const file = {
    lines: { RIGHT: ["alpha();", "beta();", "gamma();"], LEFT: ["alpha();", "delta(1);", "gamma();"] },
    isRemoved: (line: number) => line === 2,
  };

  it("Lines are shown with their numbers, removed ones on LEFT", () => {
    expect(showNearLines(file, "RIGHT", 3, ["alhpa();"])).toBe("Nearest lines on RIGHT:\n1| alpha();");
    expect(showNearLines(file, "RIGHT", 3, ["delta(2);"])).toBe("Nearest lines on LEFT:\n2| delta(1);");
  });

  it("Of a longer quote, the line that the file lacks is searched", () => {
    expect(showNearLines(file, "RIGHT", 1, ["alpha();", "betta();", "gamma();"])).toMatch(/^2\| beta\(\);$/m);
  });

  it("The lines around the stated one are shown if no line is similar", () => {
    expect(showNearLines(file, "RIGHT", 9, ["~"])).toBe("Nearest lines on RIGHT:\n2| beta();\n3| gamma();");
    expect(showNearLines(file, "LEFT", 1, ["~"])).toBe("Nearest lines on LEFT:\n1| alpha();\n2| delta(1);");
  });

  it("At most five lines are shown, each in part", () => {
    const lines = Array.from({ length: 50 }, (_, index) => `call(${index}, ${"x".repeat(100_000)}`);
    const shown = showNearLines({ lines: { RIGHT: lines, LEFT: null }, isRemoved: () => false }, "RIGHT", 7, [
      `call(?, ${"x".repeat(300)}`,
    ]);

    expect(shown.split("\n")).toHaveLength(6);
    expect(Buffer.byteLength(shown)).toBeLessThan(2_500);
  });
});
