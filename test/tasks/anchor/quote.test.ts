import { describe, expect, it } from "vitest";
import { nearLines, showNearLines } from "../../../src/tasks/anchor/quote.ts";

const numbers = (lines: string[], text: string, line: number) =>
  nearLines(lines, text, line).map((one) => one.number);

describe("nearLines", () => {
  it("names the lines whose text is most alike, and none that has little of it", () => {
    const lines = [
      "import fs",
      "const total = sum(items);",
      "return total;",
      "const totals = sum(item);",
      "}",
    ];

    expect(numbers(lines, "const total = add(items);", 1)).toEqual([2, 4]);
  });

  it("finds a misspelt word, which shares no word with the line", () => {
    expect(numbers(["recieveMessage()", "sendMessage()", "x"], "receiveMesage()", 3)[0]).toBe(1);
  });

  it("counts no white space", () => {
    expect(nearLines(["if (a)", "\t\tif  (a)\r"], "  if (a)", 1)).toEqual([
      { number: 1, difference: 0 },
      { number: 2, difference: 0 },
    ]);
  });

  it("names the nearer one of lines that are equally like the text", () => {
    const lines = Array.from({ length: 3_000 }, (_, index) => (index % 2 ? "guard(first);" : "}"));

    expect(numbers(lines, "guard(frist);", 2_000).slice(0, 3)).toEqual([2_000, 1_998, 2_002]);
  });

  it("names accepted lines only", () => {
    const accepted = nearLines(["abcd", "abce", "abcf"], "abcd", 1, (line) => line > 1);

    expect(accepted.map((one) => one.number)).toEqual([2, 3]);
  });

  it("copes with 200,000 lines and a text of 8,000 characters, and with a line of a megabyte", () => {
    const lines = Array.from(
      { length: 200_000 },
      (_, index) => `const value${index} = compute(${index}, "text");`,
    );
    lines[150_000] = `const wanted = compute(${"y".repeat(1_000_000)}`;

    expect(numbers(lines, `const wanted = compute(${"y".repeat(8_000)}`, 1)).toContain(150_001);
    expect(numbers(lines, 'const value777 = compute(777, "test");', 1)[0]).toBe(778);
  });
});

describe("showNearLines", () => {
  const file = {
    lines: { RIGHT: ["alpha();", "beta();", "gamma();"], LEFT: ["alpha();", "delta(1);", "gamma();"] },
    isRemoved: (line: number) => line === 2,
  };

  it("shows lines with their numbers, those that the change removed on LEFT", () => {
    expect(showNearLines(file, "RIGHT", 3, ["alhpa();"])).toBe("Nearest lines on RIGHT:\n1| alpha();");
    expect(showNearLines(file, "RIGHT", 3, ["delta(2);"])).toBe("Nearest lines on LEFT:\n2| delta(1);");
  });

  it("looks for the line of the quote that is nowhere", () => {
    expect(showNearLines(file, "RIGHT", 1, ["alpha();", "betta();", "gamma();"])).toMatch(/^2\| beta\(\);$/m);
  });

  it("shows what stands around the stated line where nothing is like the quote", () => {
    expect(showNearLines(file, "RIGHT", 9, ["~"])).toBe("Nearest lines on RIGHT:\n2| beta();\n3| gamma();");
    expect(showNearLines(file, "LEFT", 1, ["~"])).toBe("Nearest lines on LEFT:\n1| alpha();\n2| delta(1);");
  });

  it("shows a bounded part of five lines at most", () => {
    const lines = Array.from({ length: 50 }, (_, index) => `call(${index}, ${"x".repeat(100_000)}`);
    const shown = showNearLines({ lines: { RIGHT: lines, LEFT: null }, isRemoved: () => false }, "RIGHT", 7, [
      `call(?, ${"x".repeat(300)}`,
    ]);

    expect(shown.split("\n")).toHaveLength(6);
    expect(Buffer.byteLength(shown)).toBeLessThan(2_500);
  });
});
