import { describe, expect, it } from "vitest";
import { hidingAttributesAnalyzer } from "../../../../src/tasks/rules/analyzers/hiding-attributes.ts";
import { editedFile, wholeFile } from "./analyzed-file.ts";

const analyzer = hidingAttributesAnalyzer;
const signal = new AbortController().signal;

async function effectsOf(line: string): Promise<string[]> {
  const candidates = await analyzer.analyze(wholeFile(".gitattributes", `${line}\n`), signal);
  return candidates.map(({ source }) => source.slice("hiding-attributes/".length));
}

describe("attributes that hide code", () => {
  it.each([
    ["*.ts -diff", "diff"],
    ["* binary", "diff"],
    ["** -diff", "diff"],
    ["src/** binary", "diff"],
    ["/src/auth/login.py -text -diff", "diff"],
    ['"src/a b.go" -diff', "diff"],
    ["Makefile -diff", "diff"],
    ["src/data/*.ts -diff", "diff"],
    ["*.go linguist-generated", "generated"],
    ["src/auth/* linguist-generated=true", "generated"],
    [".github/workflows/*.yml linguist-generated", "generated"],
    ["lib/*.rb linguist-vendored", "vendored"],
    ["*.ts working-tree-encoding=UTF-7", "encoding"],
    ["*.py text working-tree-encoding=UTF-16LE-BOM", "encoding"],
    ["dist/*.js working-tree-encoding=UTF-16", "encoding"],
    ["* filter=evil", "filter"],
    ["src/** filter=tabs", "filter"],
    ["*.js filter=lfs diff=lfs merge=lfs -text", "filter"],
    ["* filter=lfs", "filter"],
    ["*.t[s] -diff", "diff"],
  ])("Attributes that hide code are found in %s", async (line, effect) =>
    expect(await effectsOf(line)).toEqual([effect]),
  );

  it.each([
    "* text=auto eol=lf",
    "*.ts text diff=typescript",
    "*.png binary",
    "*.svg -diff",
    "*.psd filter=lfs diff=lfs merge=lfs -text",
    "assets/** filter=lfs diff=lfs merge=lfs -text",
    "secrets/** filter=git-crypt diff=git-crypt",
    "*.ipynb filter=nbstripout",
    "package-lock.json -diff linguist-generated",
    "pnpm-lock.yaml -diff",
    "dist/** -diff",
    "/dist/*.js binary",
    "vendor/** linguist-vendored",
    "src/generated/** linguist-generated",
    "*.pb.go linguist-generated=true",
    "*.gen.ts linguist-generated",
    "*.min.js -diff",
    "api/*_pb2.py linguist-generated",
    "**/__snapshots__/** linguist-generated",
    "public/** linguist-vendored",
    "types/*.d.ts linguist-generated",
    "*.ts -linguist-generated",
    "*.ts linguist-generated=false",
    "*.ps1 working-tree-encoding=UTF-16LE",
    "*.ts working-tree-encoding=UTF-8",
    "docs/** linguist-documentation",
    "LICENSE -diff",
    "# *.ts -diff",
    "",
  ])("No code is hidden in %j", async (line) => expect(await effectsOf(line)).toEqual([]));

  it("Attributes behind a macro are found", async () => {
    const file = editedFile(
      ".gitattributes",
      " [attr]hide -diff linguist-generated\n+src/** hide\n *.ts hide",
    );
    const candidates = await analyzer.analyze(file, signal);
    expect(candidates.map(({ line, severity }) => [line, severity])).toEqual([[2, "medium"]]);
    expect(candidates[0]?.body).toContain("```text\nsrc/** hide\n```");
  });

  it("Only files named .gitattributes count, in any folder", async () => {
    const inFolder = await analyzer.analyze(wholeFile("a/b/.gitattributes", "*.ts -diff"), signal);
    const elsewhere = await analyzer.analyze(wholeFile("a.gitattributes", "*.ts -diff"), signal);
    expect([inFolder.length, elsewhere.length]).toEqual([1, 0]);
  });
});
