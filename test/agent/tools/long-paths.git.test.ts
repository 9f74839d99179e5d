import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FileChange } from "../../../src/agent/tools/changed-files.ts";
import type { FileDiffOutput } from "../../../src/agent/tools/diff-file.ts";
import type { FileContent } from "../../../src/agent/tools/read-file-part.ts";
import { escapeInvisible } from "../../../src/core/text/escape-invisible.ts";
import { MAX_RENDERED_BYTES } from "../../../src/repo/show.ts";
import { GitRepo } from "../../support/git-repo.ts";
import { openRepository, type TestTools, toolsOn } from "./context.ts";

/** A path of characters that take six bytes each in an answer. */
const unseen = (length: number) => "\u001f".repeat(length).replace(/(.{200})(?=.)/gs, "$1/");
const text = (word: string) => Array.from({ length: 4_000 }, (_, at) => `${word} ${at + 1}\n`).join("");
const lines = text("line");
const longest = unseen(675);
const tooLong = `added/${unseen(3_300)}`;
const renamed = `from/${unseen(3_000)}`;

let repo: GitRepo;
let opened: Awaited<ReturnType<typeof openRepository>>;
let tools: TestTools;

beforeAll(async () => {
  repo = GitRepo.create({ bare: true });
  repo.importCommits([
    {
      branch: "main",
      files: [
        [`${renamed}1`, text("both")],
        [renamed, text("from")],
      ],
    },
    {
      branch: "topic",
      parents: ["main"],
      files: [
        [longest, lines],
        [tooLong, text("other")],
        [`${renamed}1`, null],
        [`${renamed}2`, `${text("both")}more\n`],
        [renamed, null],
        ["new", `${text("from")}more\n`],
      ],
    },
  ]);
  opened = await openRepository(repo);
  tools = toolsOn(opened.workspace);
});
afterAll(async () => {
  await opened?.[Symbol.asyncDispose]();
  repo?.dispose();
});

/** All answers, the named next call followed to the end; each must say something new. */
async function follow<Output>(tool: string, first: Record<string, unknown>): Promise<Output[]> {
  const outputs: Output[] = [];
  const sent = new Set<string>();
  for (let next: Record<string, unknown> | undefined = first; next; ) {
    expect(sent).not.toContain(JSON.stringify(next));
    sent.add(JSON.stringify(next));
    const { result, text }: Awaited<ReturnType<TestTools["run"]>> = await tools.run(tool, next);
    if (result.status !== "success") throw new Error(text);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_RENDERED_BYTES);
    expect(text).not.toContain("(cut here");
    outputs.push(result.output as Output);
    next = result.metadata.next?.arguments;
  }
  return outputs;
}

describe("a path of many characters that are escaped", () => {
  it("A path of many escaped characters is read to the end", async () => {
    for (const file_path of [longest, escapeInvisible(longest), JSON.stringify(longest)]) {
      const pages = await follow<FileContent>("read_file_part", { file_path });
      expect(pages.map((page) => page.content.replace(/^\d+\|/gm, "")).join("\n")).toBe(lines.trimEnd());
    }
  });

  it("A path of many escaped characters is shown by diff_file to the end", async () => {
    const pages = await follow<FileDiffOutput>("diff_file", { file_path: longest });
    const added = pages.flatMap((page) => page.diff.match(/(?<=^\+)line.*/gm) ?? []);
    expect(added.join("\n")).toBe(lines.trimEnd());
  });

  it("A path is refused if an answer would have no room beside it", async () => {
    for (const [tool, file_path] of [
      ["read_file_part", tooLong],
      ["read_file_part", escapeInvisible(tooLong)],
      ["diff_file", tooLong],
    ] as const)
      expect(await tools.error(tool, { file_path })).toBe("the path is longer than 4096 bytes");
  });

  it("A path of many escaped characters is named among the changed files", async () => {
    const files = (await follow<FileChange[]>("changed_files", {})).flat();
    const reasons = Object.fromEntries(files.map((file) => [file.path, file.skip_reason]));
    expect(reasons[longest]).toBeNull();
    expect(reasons[tooLong]).toBe("path too long");
    const renames = files.filter((file) => file.old_path !== null);
    expect(new Set(renames.map((file) => file.path))).toEqual(new Set(["new", `${renamed}2`]));
    for (const file of renames) expect(file.skip_reason).toBe("path too long");
  });

  it("A long old path hides no line of a renamed file", async () => {
    const renames = (await tools.output<FileChange[]>("changed_files")).filter((file) => file.old_path);
    const short = renames.find((file) => file.path === "new");
    expect(short?.old_path).toBe(renamed);
    const shown = (await tools.run("diff_file", { file_path: "new" })).text;
    expect(shown).toContain("new (was a path too long to show) +1 -0, 1 hunk\n");
    expect(shown).toContain("4001 +more");
  });
});
