import { describe, expect, it } from "vitest";
import { mergeMarkersAnalyzer } from "../../../../src/tasks/rules/analyzers/leftovers.ts";
import { editedFile, wholeFile } from "./analyzed-file.ts";

const { signal } = new AbortController();
const analyzer = mergeMarkersAnalyzer;
const linesIn = async (path: string, text: string) =>
  (await analyzer.analyze(wholeFile(path, text), signal)).map((one) => one.line);

const conflict = "one\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> feature\ntwo\n";

describe("merge markers", () => {
  it("Each conflict has one finding, at its beginning", async () => {
    expect(await linesIn("a.ts", `${conflict}${conflict}`)).toEqual([2, 9]);
  });

  it("Conflicts with a base and with carriage returns are found", async () => {
    const text = "<<<<<<< ours\r\na\r\n||||||| base\r\nb\r\n=======\r\nc\r\n>>>>>>> theirs\r\n";
    expect(await linesIn("a.txt", text)).toEqual([1]);
  });

  it("Parts of a conflict are found", async () => {
    expect(await linesIn("a.py", "a = 1\n>>>>>>> feature\n")).toEqual([2]);
    expect(await linesIn("a.py", "<<<<<<< HEAD\na = 1\n")).toEqual([1]);
  });

  it("A conflict is found at the line that the change added", async () => {
    const file = editedFile("a.ts", " <<<<<<< HEAD\n ours\n+=======\n theirs\n >>>>>>> feature");
    expect((await analyzer.analyze(file, signal)).map((one) => one.line)).toEqual([3]);
    const old = editedFile("a.ts", " <<<<<<< HEAD\n ours\n =======\n theirs\n >>>>>>> feature\n+three");
    expect(await analyzer.analyze(old, signal)).toEqual([]);
  });

  it.each([
    ["a heading", "docs/a.md", "Changes\n=======\n\ntext\n"],
    ["a heading of reStructuredText", "docs/a.rst", "Changes\n=======\n\ntext\n"],
    ["a row of signs in code", "a.py", '"""\nTitle\n=======\n"""\n'],
    ["a quotation seven deep", "mail.txt", ">>>>>>> said somebody\n"],
    ["an explanation in a fence", "docs/git.md", `Resolve it:\n\n\`\`\`\n${conflict}\`\`\`\n`],
    ["a longer row", "a.ts", "<<<<<<<< a\n=======\n>>>>>>>> b\n"],
    ["a shift", "a.ts", "const x = 1 <<<<<<< 2;\n"],
  ])("No conflict is found in %s", async (_, path, text) => {
    expect(await linesIn(path, text)).toEqual([]);
  });

  it("A complete conflict in prose is found", async () => {
    expect(await linesIn("README.md", conflict)).toEqual([2]);
  });
});
