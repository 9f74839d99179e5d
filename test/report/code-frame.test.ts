import { describe, expect, it } from "vitest";
import { codeFrame, suggestionDiff } from "../../src/report/code-frame.ts";
import { sampleFinding, sampleSource } from "./sample-result.ts";

const numbers = (frame: ReturnType<typeof codeFrame>) =>
  frame.map((line) => (line === null ? "..." : `${line.anchored ? ">" : ""}${line.number}`));

describe("A code frame", () => {
  it("A frame shows three lines around the anchored one", () => {
    expect(numbers(codeFrame(sampleFinding({ line: 6 }), sampleSource))).toEqual([
      "3",
      "4",
      "5",
      ">6",
      "7",
      "8",
      "9",
    ]);
  });

  it("A frame of a secret shows no code", () => {
    expect(codeFrame(sampleFinding({ line: 6, source: "secrets/github-token" }), sampleSource)).toEqual([]);
  });

  it("A frame ends at both ends of the file", () => {
    expect(numbers(codeFrame(sampleFinding({ line: 1 }), sampleSource))).toEqual([">1", "2", "3", "4"]);
    expect(numbers(codeFrame(sampleFinding({ line: 10 }), sampleSource))).toEqual(["7", "8", "9", ">10"]);
  });

  it("A frame shows the merge base's lines and numbers for a removed line", () => {
    const frame = codeFrame(sampleFinding({ side: "LEFT", line: 4, start_line: 3 }), sampleSource);
    expect(frame).toContainEqual({ number: 4, text: "four", anchored: true });
    expect(numbers(frame)).toEqual(["1", "2", ">3", ">4", "5", "6"]);
  });

  it("A frame shows the quote if the file is not at hand", () => {
    const finding = sampleFinding({ path: "gone.ts", line: 9, start_line: 8, quote: "a\nb" });
    expect(codeFrame(finding, sampleSource)).toEqual([
      { number: 8, text: "a", anchored: true },
      { number: 9, text: "b", anchored: true },
    ]);
  });

  it("A frame shows the end of a quote that is longer than its clipped range", () => {
    const finding = sampleFinding({ path: "gone.ts", line: 9, start_line: 8, quote: "x\na\nb" });
    expect(codeFrame(finding, sampleSource).map((line) => line?.text)).toEqual(["a", "b"]);
  });

  it("A frame leaves out the middle of a long range", () => {
    const quote = Array.from({ length: 40 }, (_, index) => `line ${index}`).join("\n");
    const frame = codeFrame(sampleFinding({ path: "long.ts", line: 40, start_line: 1, quote }), () => null);
    expect(numbers(frame)).toHaveLength(17);
    expect(numbers(frame)[8]).toBe("...");
    expect(numbers(frame).at(-1)).toBe(">40");
  });
});

describe("A suggestion as a diff", () => {
  const diff = (suggestion: string | null, quote = "a\nb\nc") =>
    suggestionDiff(sampleFinding({ path: "x", line: 3, start_line: 1, quote, suggestion }), () => null)?.map(
      ({ sign, text }) => sign + text,
    );

  it("A suggestion keeps what both sides share as context", () => {
    expect(diff("a\nB\nc")).toEqual([" a", "-b", "+B", " c"]);
  });

  it("A suggestion keeps an empty line at its end", () => {
    expect(diff("a\nB\n", "a\nb\n")).toEqual([" a", "-b", "+B", " "]);
  });

  it("An empty suggestion removes all lines", () => {
    expect(diff("")).toEqual(["-a", "-b", "-c"]);
  });

  it("A suggestion does not count a line twice that begins and ends it", () => {
    expect(diff("a", "a\na\na")).toEqual([" a", "-a", "-a"]);
  });

  it("The diff is null for a finding without a suggestion", () => {
    expect(diff(null)).toBeUndefined();
  });
});
