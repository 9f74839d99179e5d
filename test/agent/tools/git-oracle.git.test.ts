import { isUtf8 } from "node:buffer";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FileChange } from "../../../src/agent/tools/changed-files.ts";
import type { FileDiffOutput } from "../../../src/agent/tools/diff-file.ts";
import type { FileContent } from "../../../src/agent/tools/read-file-part.ts";
import type { FileCount, SearchMatch } from "../../../src/agent/tools/search-in-files.ts";
import type { GitRepo } from "../../support/git-repo.ts";
import { buildRepository, type HostileRepository } from "../../support/hostile-repository.ts";
import { repositorySpec } from "../../support/repo-arbitrary.ts";
import { openRepository, type TestTools, toolsOn } from "./context.ts";

const long = process.env.HUNKWISE_LONG === "1";
const timeout = long ? 3_600_000 : 600_000;

/** Checks a claim about the tools on generated repositories, opened as the command line opens them. */
async function check(
  numRuns: number,
  claim: (tools: TestTools, made: HostileRepository) => Promise<void>,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(repositorySpec, async (spec) => {
      using made = buildRepository(spec);
      await using opened = await openRepository(made.repo, made);
      const tools = toolsOn(opened.workspace);
      await claim(tools, made);
      expect(tools.crashes).toEqual([]);
    }),
    { numRuns: long ? numRuns * 30 : Math.ceil(numRuns / 2), ...(long ? {} : { seed: 20_261_122 }) },
  );
}

/** Bytes as text, each line by itself: UTF-8, or else Latin-1. */
function decoded(bytes: Buffer): string {
  const lines = bytes.toString("latin1").split("\n");
  return lines
    .map((line) => Buffer.from(line, "latin1"))
    .map((line) => line.toString(isUtf8(line) ? "utf8" : "latin1"))
    .join("\n");
}

const records = (bytes: Buffer) => bytes.toString("utf8").split("\0").slice(0, -1);

/**
 * git's patches by path, as bytes. Parts of one diff, because a path given to git also means what is in a folder of that name, as where
 * a file becomes a folder.
 */
function patchesOf({ repo, shas }: HostileRepository, contextLines: number): Map<string, Buffer> {
  const range = ["-M", "-l1000", shas.mergeBase, shas.head];
  const whole = repo.bytes(["diff", `-U${contextLines}`, ...range]).toString("latin1");
  const parts = whole.split(/(?<=\n)(?=diff --git )/);
  const patches = new Map<string, Buffer>();
  const status = records(repo.bytes(["diff", "--name-status", "-z", ...range]));
  for (let one = status.shift(); one !== undefined; one = status.shift()) {
    if (/^[RC]/.test(one)) status.shift();
    // A change of type is a deletion and an addition.
    const patch = parts.splice(0, one === "T" ? 2 : 1).join("");
    patches.set(status.shift()!, Buffer.from(patch, "latin1"));
  }
  expect(parts.join("")).toBe("");
  return patches;
}

/** The hunks of a patch: what follows its header. */
function hunksOf(patch: string): string {
  const start = patch.indexOf("\n@@ -");
  return start < 0 ? "" : patch.slice(start + 1);
}
// Only a line feed begins a line: `^` and `.` of a regular expression stop at carriage returns too.
const countHunks = (patch: string) => patch.match(/(?<![^\n])@@ -/g)?.length ?? 0;
/** Hunks without their `@@` lines: the same whether they are divided or not. */
const linesOf = (hunks: string) => hunks.replace(/(?<![^\n])@@ -[^\n]*\n/g, "");

/** Whether a file was moved or got another mode: if that decides what runs it, its whole text counts as one hunk, which git does not show. */
const isMoved = (patch: string) => /^(?:rename from|old mode) /m.test(patch);

/** All answers of a tool, the named next call followed to the end. */
async function follow<Output>(
  tools: TestTools,
  tool: string,
  first: Record<string, unknown>,
): Promise<Output[]> {
  const outputs: Output[] = [];
  for (let sent: Record<string, unknown> | undefined = first; sent; ) {
    const { result, text }: Awaited<ReturnType<TestTools["run"]>> = await tools.run(
      tool,
      JSON.stringify(sent),
    );
    if (result.status !== "success") throw new Error(`${tool} ${JSON.stringify(sent)}: ${text}`);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(32 * 1024);
    outputs.push(result.output as Output);
    sent = result.metadata.next?.arguments;
  }
  return outputs;
}

/** Whether git would apply a patch to the merge base. */
function applies(repo: GitRepo, patch: Buffer): boolean {
  try {
    repo.bytes(["apply", "--cached", "--check", "-"], patch);
    return true;
  } catch {
    return false;
  }
}

const isFile = (mode: string | undefined) => mode?.startsWith("100") ?? false;

describe("the tools, with git as the oracle", { timeout }, () => {
  it("changed_files gives git's raw entries, line counts and hunks", async () => {
    await check(6, async (tools, made) => {
      const files = await tools.output<FileChange[]>("changed_files");
      const { repo, shas } = made;
      const range = ["-M", "-l1000", shas.mergeBase, shas.head];
      const letter = {
        added: "A",
        modified: "M",
        deleted: "D",
        renamed: "R",
        copied: "C",
        type_changed: "T",
      };
      const raw = files.flatMap((file) => [
        letter[file.change_type],
        ...(file.old_path === null ? [] : [file.old_path]),
        file.path,
      ]);
      const status = records(repo.bytes(["diff", "--name-status", "-z", ...range]));
      expect(raw).toEqual(status.map((one) => one.replace(/^([RC])\d{3}$/, "$1")));

      const lines = files.flatMap((file) => {
        const counts = `${file.additions ?? "-"}\t${file.deletions ?? "-"}\t`;
        return file.old_path === null ? [counts + file.path] : [counts, file.old_path, file.path];
      });
      expect(lines).toEqual(records(repo.bytes(["diff", "--numstat", "-z", ...range])));

      const patches = patchesOf(made, 3);
      for (const file of files.filter((one) => one.reviewable)) {
        const patch = patches.get(file.path)!.toString("latin1");
        if (file.total_hunks === 1 && countHunks(patch) !== 1 && isMoved(patch)) continue;
        expect(file.total_hunks).toBe(countHunks(patch));
        // What has no hunk is told in a line, because no line changed.
        const changed = (file.additions ?? 0) + (file.deletions ?? 0);
        expect(file.total_hunks > 0).toBe(changed > 0);
      }
    });
  });

  it("The pages of diff_file put together are git's hunks, and git applies each", async () => {
    await check(6, async (tools, made) => {
      const changes = await tools.workspace.changes();
      made.repo.git("read-tree", made.shas.mergeBase);
      const widths = [0, 1, 3, 12].map((width) => ({ width, patches: patchesOf(made, width) }));
      for (const change of changes) {
        const special = [change.oldMode, change.newMode].some((mode) => mode !== "000000" && !isFile(mode));
        if (special) continue;
        for (const { width, patches } of widths) {
          const patch = patches.get(change.path)!;
          const text = decoded(patch);
          const sent = { file_path: change.path, context_lines: width };
          const pages = await follow<FileDiffOutput>(tools, "diff_file", sent);
          const [first] = pages;
          const total = countHunks(text);
          if (first?.total_hunks === 1 && isMoved(text)) continue;
          if (total === 0) {
            expect(first).toMatchObject({ total_hunks: 0, returned_hunks: 0 });
            expect(first?.diff).not.toBe("");
            continue;
          }
          const together = pages.map((page) => hunksOf(page.diff)).join("");
          expect(linesOf(together)).toBe(linesOf(hunksOf(text)));
          expect(pages.reduce((sum, page) => sum + page.returned_hunks, 0)).toBe(first?.total_hunks);
          if (first?.total_hunks !== total) continue;
          expect(together).toBe(hunksOf(text));
          if (width === 0 || !applies(made.repo, patch)) continue;
          // Text that was decoded line by line cannot be encoded again without knowing how.
          if (!isUtf8(patch)) continue;
          for (const page of pages) expect(applies(made.repo, Buffer.from(page.diff))).toBe(true);
        }
      }
    });
  });

  it("Reading every page of every reviewable file serves every hunk exactly once", async () => {
    await check(4, async (tools) => {
      const files = (await tools.output<FileChange[]>("changed_files")).filter((file) => file.reviewable);
      const width = { context_lines: files.length % 2 === 0 ? 3 : 7 };
      for (const file of files) await follow(tools, "diff_file", { file_path: file.path, ...width });
      // What a line tells counts as one hunk.
      const all = files.flatMap((file) =>
        Array.from({ length: Math.max(1, file.total_hunks) }, (_, index) => `${file.path}#${index + 1}`),
      );
      expect(tools.served.toSorted()).toEqual(all.toSorted());
    });
  });

  it("read_file_part gives the blob, page by page, at every revision", async () => {
    await check(6, async (tools, made) => {
      for (const ref of ["head", "base", "merge_base"] as const) {
        const files = [...(await tools.workspace.tree(ref)).values()].filter(({ mode }) => isFile(mode));
        const blobs = blobsOf(
          made.repo,
          files.map(({ oid }) => oid),
        );
        for (const entry of files) {
          const bytes = blobs.get(entry.oid)!;
          if (bytes.subarray(0, 8000).includes(0)) {
            expect(await tools.error("read_file_part", { file_path: entry.path, ref })).toContain("binary");
            continue;
          }
          const encoding = isUtf8(bytes) ? "utf8" : "latin1";
          const lines = decoded(bytes).replace(/\n$/, "").split("\n");
          const pages = await follow<FileContent>(tools, "read_file_part", { file_path: entry.path, ref });
          const expected = bytes.length === 0 ? "" : lines.map((line, at) => `${at + 1}|${line}`).join("\n");
          expect(pages.map((page) => page.content).join("\n")).toBe(expected);
          expect(pages[0]?.total_lines).toBe(bytes.length === 0 ? 0 : lines.length);
          expect(pages[0]?.encoding).toBe(encoding);
        }
      }
    });
  });

  it("search_in_files finds the literals that git grep -F finds, in every mode", async () => {
    await check(6, async (tools, made) => {
      const tree = [...(await tools.workspace.tree("head")).values()].filter(({ mode }) => isFile(mode));
      const blobs = blobsOf(
        made.repo,
        tree.map(({ oid }) => oid),
      );
      const isText = ({ oid }: { oid: string }) => isUtf8(blobs.get(oid)!) && !blobs.get(oid)!.includes(0);
      const text = new Set(tree.filter(isText).map(({ path }) => path));
      for (const pattern of ["needle", "é", "@@ -1", "line 7", "\\"]) {
        const found = grep(pattern, made)
          .filter(({ path }) => text.has(path))
          .map(({ path, line, text: content }) => `${path}:${line}:${content}`)
          .toSorted();
        const sent = { pattern, fixed_string: true, max_results: 1_000, context_lines: 0 };
        const matches = await tools.output<SearchMatch[]>("search_in_files", sent);
        const ours = matches.filter(({ file_path }) => text.has(file_path));
        expect(
          ours.map((one) => `${one.file_path}:${one.line_number}:${one.line_content}`).toSorted(),
        ).toEqual(found);

        const paths = [...new Set(ours.map((one) => one.file_path))];
        const counts = await tools.output<FileCount[]>("search_in_files", { ...sent, output_mode: "count" });
        const named = await tools.output<string[]>("search_in_files", {
          ...sent,
          output_mode: "files_with_matches",
        });
        expect(named.filter((path) => text.has(path))).toEqual(paths);
        expect(counts.filter((one) => text.has(one.file_path))).toEqual(
          paths.map((path) => ({
            file_path: path,
            count: ours.filter((one) => one.file_path === path).length,
          })),
        );
      }
    });
  });

  it("list_files gives git ls-tree, whole and folder by folder", async () => {
    await check(6, async (tools, { repo, shas }) => {
      const all = records(repo.bytes(["ls-tree", "-r", "-z", "--name-only", shas.head]));
      expect(await tools.output("list_files")).toEqual(all);
      const folders = records(repo.bytes(["ls-tree", "-r", "-d", "-z", "--name-only", shas.head]));
      const submodules = new Set(
        [...(await tools.workspace.tree("head")).values()]
          .filter(({ mode }) => mode === "160000")
          .map(({ path }) => path),
      );
      const real = folders.filter((folder) => !submodules.has(folder));
      expect(await tools.output("list_files", { type: "directory" })).toEqual(real);
      for (const directory of real.slice(0, 4)) {
        const below = all.filter((path) => path.startsWith(`${directory}/`));
        expect(await tools.output("list_files", { directory })).toEqual(below);
        const direct = below.filter((path) => !path.slice(directory.length + 1).includes("/"));
        expect(await tools.output("list_files", { directory, depth: 1 })).toEqual(direct);
      }
    });
  });
});

/** Records of `git grep -z -n`: path NUL line NUL text newline. The exit code is 1 when nothing matches. */
function grep(
  pattern: string,
  { repo, shas }: HostileRepository,
): { path: string; line: number; text: string }[] {
  const args = ["grep", "-z", "-n", "-I", "-F", "-e", pattern, shas.head];
  const output = repo.bytes(args, "", [0, 1]).toString("utf8");
  return [...output.matchAll(/([^\0]+)\0(\d+)\0([^\n]*)\n/g)].map(([, path, line, text]) => ({
    path: path!.slice(shas.head.length + 1),
    line: Number(line),
    text: text!,
  }));
}

/** The content of blobs, by one git process. */
function blobsOf(repo: GitRepo, oids: readonly string[]): Map<string, Buffer> {
  const output = repo.bytes(["cat-file", "--batch"], oids.map((oid) => `${oid}\n`).join(""));
  const blobs = new Map<string, Buffer>();
  let at = 0;
  for (const oid of oids) {
    const end = output.indexOf("\n", at);
    const size = Number(output.toString("latin1", at, end).split(" ")[2]);
    blobs.set(oid, output.subarray(end + 1, end + 1 + size));
    at = end + size + 2;
  }
  return blobs;
}
