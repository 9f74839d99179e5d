import { chmodSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { forAllRoles } from "../../../src/agent/llm/model.ts";
import { openObjects } from "../../../src/repo/git/object-workspace.ts";
import type { Workspace } from "../../../src/repo/git/workspace.ts";
import { reviewChange } from "../../../src/tasks/review/review-change.ts";
import { isComplete } from "../../../src/tasks/shapes/review-result.ts";
import { openRepository, toolsOn } from "../../agent/tools/context.ts";
import { GitRepo } from "../../support/git-repo.ts";
import { reviewDependencies } from "../../support/review-dependencies.ts";
import { reviewInput } from "../../support/review-input.ts";
import { scriptedModel } from "../../support/scripted.ts";

const long = process.env.HUNKWISE_LONG === "1";

/** What can happen to the file of an object. */
const harms: Record<string, (file: string) => void> = {
  removed: (file) => rmSync(file),
  emptied: (file) => truncateSync(file, 0),
  truncated: (file) => truncateSync(file, readFileSync(file).length - 8),
  overwritten: (file) => writeFileSync(file, "not an object"),
};
const harm = fc.constantFrom(...Object.keys(harms));

function damage(repo: GitRepo, at: string, how: string): void {
  const oid = repo.git("rev-parse", at);
  const file = join(repo.dir, ".git/objects", oid.slice(0, 2), oid.slice(2));
  chmodSync(file, 0o644);
  harms[how]?.(file);
}

const names = ["a", "b", "c", "d", "e"].map((name) => `src/${name}.ts`);
/** Lines that call the function of `lib.ts`; each file and state is another blob. */
const source = (path: string, state: string) => {
  const name = path.slice(4, 5);
  return Array.from(
    { length: 12 },
    (_, at) => `export function ${name}${at}() { return needle("${state}"); }\n`,
  ).join("");
};
const library = "export function needle(text: string) {\n  return text;\n}\n";

/** A change of the library and of some files; without some of them altogether. */
function createRepo(changed: readonly string[], without: readonly string[] = []): GitRepo {
  const repo = GitRepo.create();
  const kept = names.filter((path) => !without.includes(path));
  const files = (state: string, paths: readonly string[]) =>
    Object.fromEntries(paths.map((path) => [path, source(path, state)]));
  repo.commit("base", { "src/lib.ts": library, ...files("old", kept) });
  repo.branch("topic");
  const now = kept.filter((path) => changed.includes(path));
  repo.commit("head", { "src/lib.ts": library.replace("text;", "text + text;"), ...files("new", now) });
  return repo;
}

const calls: [string, object][] = [
  ["search_in_files", { pattern: "needle\\(" }],
  ["search_in_files", { pattern: "needle", output_mode: "count" }],
  ["read_definition", { name: "needle" }],
  ["find_callers", { name: "needle", file_path: "src/lib.ts" }],
  ["diff_file", { file_path: "src/lib.ts" }],
];
const NOTE = /\n\(Not read, because git lacks the file, or has it damaged: (.*)\.\)$/;

/** What the tools answer, each without the note on unreadable files, and the files of these notes. */
async function answersOn(workspace: Workspace) {
  const { run, context } = toolsOn(workspace);
  const all = await Promise.all(calls.map(async ([tool, sent]) => (await run(tool, sent)).text));
  const files = await context.diffs.files();
  return {
    texts: all.map((text) => text.replace(NOTE, "")),
    unread: all.slice(0, 4).map((text) => NOTE.exec(text)?.[1]?.split(", ") ?? []),
    files: files.map(({ change, skipReason }) => [change.path, skipReason] as const),
  };
}

const some = fc.subarray(names);

describe("a file that git cannot read", () => {
  it("costs a search and a change that file, is named, and changes nothing else", async () => {
    const damages = fc.uniqueArray(fc.tuple(fc.constantFrom(...names), harm), {
      minLength: 1,
      selector: ([path]) => path,
    });
    await fc.assert(
      fc.asyncProperty(some, damages, fc.boolean(), async (changed, lost, isOnlyOld) => {
        const paths = lost.map(([path]) => path).sort();
        using whole = createRepo(changed, isOnlyOld ? [] : paths);
        using broken = createRepo(changed);
        for (const [path, how] of lost) damage(broken, `${isOnlyOld ? "main" : "topic"}:${path}`, how);
        await using expected = await openRepository(whole);
        await using opened = await openRepository(broken);
        await using objects = openObjects(opened.place);
        const wanted = await answersOn(expected.workspace);
        const found = await answersOn(objects);
        const isSame = (path: string) => !changed.includes(path);
        const gone = isOnlyOld ? paths.filter(isSame) : paths;
        if (!isOnlyOld) expect(found.texts).toEqual(wanted.texts);
        for (const unread of found.unread) expect(unread).toEqual(gone);
        const states = Object.fromEntries(found.files);
        for (const path of paths.filter((one) => changed.includes(one)))
          expect(states[path]).toBe("cannot be read from the repository");
        const others = ({ files }: typeof found) => files.filter(([path]) => !paths.includes(path));
        expect(others(found)).toEqual(others(wanted));
      }),
      { numRuns: long ? 200 : 8 },
    );
  });

  it("is found in the user's work tree, which has its bytes, and named where it is parsed", async () => {
    using repo = createRepo([]);
    damage(repo, "topic:src/a.ts", "truncated");
    damage(repo, "topic:src/b.ts", "removed");
    repo.write({ "src/b.ts": "edited\n" });
    await using opened = await openRepository(repo);
    const { run } = toolsOn(opened.workspace);
    const { text } = await run("search_in_files", { pattern: "needle", output_mode: "files_with_matches" });
    expect(text).toContain("src/a.ts");
    expect(NOTE.exec(text)?.[1]).toBe("src/b.ts");
    const callers = (await run("find_callers", { name: "needle", file_path: "src/lib.ts" })).text;
    expect(NOTE.exec(callers)?.[1]).toBe("src/b.ts, src/a.ts");
    expect(callers).toContain("src/c.ts");
  });

  it("is named by the tools that read it, and does not hide the others from them", async () => {
    using repo = createRepo(["src/b.ts"]);
    damage(repo, "topic:src/b.ts", "truncated");
    await using opened = await openRepository(repo);
    const { run, error, output } = toolsOn(opened.workspace);
    const sizes = await output<{ path: string; size: number | null }[]>("list_files", { with_size: true });
    expect(sizes.filter(({ size }) => size === null).map(({ path }) => path)).toEqual(["src/b.ts"]);
    expect(NOTE.exec((await run("list_files", { with_size: true })).text)?.[1]).toBe("src/b.ts");
    expect(await output("list_files")).toHaveLength(6);
    const reads = [
      ["read_file_part", { file_path: "src/b.ts" }],
      ["diff_files", { file_path1: "src/b.ts", file_path2: "src/a.ts" }],
    ] as const;
    for (const [tool, sent] of reads) expect(await error(tool, sent)).toMatch(/^'src\/b\.ts' cannot be read/);
    expect((await run("diff_file", { file_path: "src/b.ts" })).text).toContain("cannot be read");
    expect((await run("changed_files")).text).toContain("M src/b.ts not reviewed: cannot be read");
    expect((await run("read_file_part", { file_path: "src/b.ts", ref: "merge_base" })).text).toContain("old");
  });

  it("counts as unread if it is changed, and the rest is reviewed with its context", async () => {
    using repo = createRepo(["src/b.ts", "src/c.ts"]);
    damage(repo, "topic:src/b.ts", "truncated");
    damage(repo, "topic:src/a.ts", "removed");
    await using opened = await openRepository(repo);
    const finish = { toolCalls: [{ id: "f", name: "finish_review", arguments: { summary: "All." } }] };
    for (const offline of [false, true]) {
      const model = scriptedModel(() => finish);
      const deps = reviewDependencies(opened.workspace, offline ? null : forAllRoles(model));
      const result = await reviewChange(reviewInput({ config: { effort: "medium" } }), deps);
      expect(isComplete(result)).toBe(false);
      const skipped = { path: "src/b.ts", reason: "cannot be read from the repository", account: "unread" };
      expect(result.coverage.files_skipped).toEqual([skipped]);
      if (!offline) expect(model.requests[0]?.messages.at(-1)?.content).toContain("src/c.ts");
    }
  });
});
