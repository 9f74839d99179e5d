import fc from "fast-check";
import { expect, it } from "vitest";
import type { FileDiffOutput } from "../../../src/agent/tools/diff-file.ts";
import { nameBytes } from "../../../src/repo/git/names.ts";
import { openObjects, openWorkspace } from "../../../src/repo/git/object-workspace.ts";
import { openOverlay } from "../../../src/repo/git/overlay-workspace.ts";
import { openLocalRange } from "../../../src/repo/git/range.ts";
import type { Change, EditableWorkspace } from "../../../src/repo/git/workspace.ts";
import { type TestTools, toolsOn } from "../../agent/tools/context.ts";
import { type GitRepo, gitPath } from "../../support/git-repo.ts";
import { buildRepository } from "../../support/hostile-repository.ts";
import { repositorySpec } from "../../support/repo-arbitrary.ts";

const long = process.env.HUNKWISE_LONG === "1";

/** An edit of a repair; the current files determine which file and lines it means. */
const deed = fc.record({
  tool: fc.constantFrom("edit_file", "edit_file", "write_file", "move_file", "copy_file", "delete_file"),
  mode: fc.constantFrom("overwrite", "append", "insert", "replace_lines"),
  file: fc.nat(),
  line: fc.nat(),
  count: fc.integer({ min: 1, max: 4 }),
  text: fc.constantFrom(
    "",
    "needle",
    "x\ny\n",
    "é",
    "\r\n",
    "  function needle() {\n",
    "--- a/x\n+++ b/x",
    "@@",
  ),
  to: fc.constantFrom("new.ts", "a/b.txt", "dir/é.md", 'q"uote', "tab\there.py", "src"),
  flag: fc.boolean(),
});
type Deed = typeof deed extends fc.Arbitrary<infer One> ? One : never;

async function perform(one: Deed, files: EditableWorkspace, tools: TestTools): Promise<void> {
  const tree = [...(await files.tree("head")).values()].filter(({ mode }) => mode.startsWith("100"));
  const entry = tree[one.file % Math.max(tree.length, 1)];
  if (!entry) return;
  const { path } = entry;
  const lines = (await files.readBlob(entry.oid)).text.split("\n");
  const start = one.line % lines.length;
  const old_string = lines.slice(start, start + one.count).join("\n");
  const sent = {
    edit_file: { path, old_string, new_string: one.text, replace_all: one.flag },
    write_file: {
      ...{ path: one.flag ? path : one.to, content: one.text, mode: one.mode },
      ...{ start_line: start + 1, end_line: start + one.count },
    },
    move_file: { source_path: path, destination_path: one.to, overwrite: one.flag },
    copy_file: { source_path: path, destination_path: one.to, overwrite: one.flag },
    delete_file: { path },
  }[one.tool];
  // A refused call changes nothing; the comparison would show it.
  await tools.run(one.tool, sent);
  expect(tools.crashes).toEqual([]);
}

/** Commits the edits, so that git and a checkout give the expected results. */
async function commitEdits(repo: GitRepo, files: EditableWorkspace): Promise<void> {
  const edits = await files.edits();
  const gone = edits.flatMap(({ path, after }) => (after ? [] : [[nameBytes(path), null] as const]));
  const put = edits.flatMap(({ path, after }) =>
    after ? [[nameBytes(path), { mode: after.mode as "100644", data: after.bytes }] as const] : [],
  );
  repo.importCommits([{ branch: "edited", parents: ["topic"], files: [...gone, ...put] }]);
}

const questions: [string, Record<string, unknown>][] = [
  ["list_files", { type: "any", with_size: true }],
  ["search_in_files", { pattern: "needle", context_lines: 1 }],
  ["search_in_files", { pattern: "e", max_results: 3, file_pattern: "!*.ts" }],
  ["search_in_files", { pattern: "^", output_mode: "count" }],
  ["read_definition", { name: "needle" }],
];

async function answers(tools: TestTools, edited: readonly string[]): Promise<string[]> {
  const reads = edited.map((file_path) => ["read_file_part", { file_path }] as const);
  const all: string[] = [];
  for (const [tool, sent] of [...questions, ...reads]) {
    const { result, text } = await tools.run(tool, sent);
    const { duration_ms: _, debug: __, ...metadata } = result.metadata;
    all.push(JSON.stringify({ tool, sent, ...result, metadata, text }));
  }
  return all;
}

/** The hunks of each change, one by one, as a model pages through them; null if a text patch cannot represent the change. */
async function pagesOf(change: Change, files: EditableWorkspace, tools: TestTools): Promise<string[] | null> {
  const sides = [change.oldOid, change.newOid].filter((oid) => !/^0+$/.test(oid));
  const texts = await Promise.all(sides.map((oid) => files.readBlob(oid)));
  const isText = texts.every(({ binary, encoding }) => !binary && encoding === "utf8");
  const modes = [change.oldMode, change.newMode].filter((mode) => mode !== "000000");
  if (!isText || !modes.every((mode) => mode.startsWith("100"))) return null;
  const undivided = (await files.patch(change, 1)).match(/^@@ /gm)?.length ?? 0;
  const pages: string[] = [];
  for (let at = 1, total = 1; at <= total; at += 1) {
    const sent = { file_path: change.path, context_lines: 1, start_hunk: at, end_hunk: at };
    const page = await tools.output<FileDiffOutput>("diff_file", sent);
    total = page.total_hunks;
    // A part of a divided hunk lacks context that git requires.
    if (total > undivided) return null;
    if (total > 0) pages.push(page.diff);
  }
  return pages;
}

/** Requires that git can apply each page to the merge base separately, one of each file at a time. */
function requireApplicable(repo: GitRepo, commit: string, pages: readonly string[][]): void {
  repo.git("read-tree", commit);
  for (let at = 0; pages.some((file) => file.length > at); at += 1) {
    const patch = pages.flatMap((file) => file[at] ?? []).join("");
    repo.bytes(["apply", "--check", "--cached", "--whitespace=nowarn"], patch);
  }
}

it("After any edits, the reading tools answer as in a checkout, and git applies each page of the diff", {
  timeout: long ? 1_800_000 : 300_000,
}, async () => {
  const tally = { edits: 0, pages: 0 };
  const deeds = fc.array(deed, { minLength: 4, maxLength: 8 });
  const claim = fc.asyncProperty(repositorySpec, deeds, async (spec, done) => {
    using made = buildRepository(spec);
    const { repo } = made;
    const open = (head: string) => openLocalRange({ repo: repo.dir, base: "main", head, gitPath });
    await using range = await open("topic");
    await using below = openObjects(range.place);
    await using files = openOverlay(below, range.place);
    const tools = toolsOn(files, { edit: files });
    for (const one of done) await perform(one, files, tools);
    await commitEdits(repo, files);
    await using wanted = await open("edited");
    await using checkout = openWorkspace(wanted.place);
    expect([...(await files.tree("head")).values()]).toEqual([...(await checkout.tree("head")).values()]);
    // For a removed file, a checkout may show its new path: only git detects a move.
    const edited = (await files.edits()).flatMap(({ path, after }) => (after ? [path] : []));
    expect(await answers(tools, edited)).toEqual(await answers(toolsOn(checkout), edited));

    const pages: string[][] = [];
    for (const change of await files.changes()) {
      const own = edited.includes(change.path) ? await pagesOf(change, files, tools) : null;
      if (own !== null) pages.push(own);
    }
    requireApplicable(repo, range.place.shas.mergeBase, pages);
    tally.edits += edited.length;
    tally.pages += pages.flat().length;
  });
  // Shrinking a failure takes longer than finding it.
  await fc.assert(claim, {
    ...{ numRuns: long ? 100 : 3, endOnFailure: true },
    ...(long ? {} : { seed: 20_261_125 }),
  });
  expect(tally.edits).toBeGreaterThan(long ? 100 : 4);
  expect(tally.pages).toBeGreaterThan(long ? 60 : 2);
});
