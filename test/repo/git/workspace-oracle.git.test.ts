import { isUtf8 } from "node:buffer";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openWorkspace } from "../../../src/repo/git/object-workspace.ts";
import { openLocalRange } from "../../../src/repo/git/range.ts";
import type { Workspace } from "../../../src/repo/git/workspace.ts";
import { type GitRepo, gitPath } from "../../support/git-repo.ts";
import { buildRepository, type HostileRepository } from "../../support/hostile-repository.ts";
import { needle } from "../../support/needle.ts";
import { repositorySpec, worstCase } from "../../support/repo-arbitrary.ts";

const long = process.env.HUNKWISE_LONG === "1";

/** Checks a claim on generated repositories, each opened as the command line opens it. */
async function check(
  numRuns: number,
  claim: (workspace: Workspace, made: HostileRepository) => Promise<void>,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(repositorySpec, async (spec) => {
      using made = buildRepository(spec);
      const { base, head, repo } = made;
      await using range = await openLocalRange({ repo: repo.dir, base, head, gitPath });
      expect(range.place.shas).toEqual(made.shas);
      await using workspace = openWorkspace(range.place);
      await claim(workspace, made);
    }),
    {
      examples: [[worstCase]],
      numRuns: long ? numRuns * 15 : Math.ceil(numRuns / 2),
      ...(long ? {} : { seed: 20_260_101 }),
    },
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

/** git's `-z` output as its records. */
function records(repo: GitRepo, ...args: string[]): string[] {
  return repo.bytes(args).toString("utf8").split("\0").slice(0, -1);
}

describe("the workspace, with git as the oracle", { timeout: long ? 1_800_000 : 300_000 }, () => {
  it("The workspace gives git's raw entries and line counts", async () => {
    await check(15, async (workspace, { repo, shas }) => {
      const range = [shas.mergeBase, shas.head];
      const changes = await workspace.changes();
      const raw = changes.flatMap((one) => {
        const status = {
          added: "A",
          modified: "M",
          deleted: "D",
          renamed: "R",
          copied: "C",
          type_changed: "T",
        }[one.type];
        const paths = one.oldPath === null ? [one.path] : [one.oldPath, one.path];
        return [`:${one.oldMode} ${one.newMode} ${one.oldOid} ${one.newOid} ${status}`, ...paths];
      });
      const oracle = records(repo, "diff", "--raw", "-z", "-M", "-l1000", "--no-abbrev", ...range);
      expect(raw).toEqual(oracle.map((one) => one.replace(/^(:\d{6} .* [RC])\d{3}$/, "$1")));

      const counts = changes.flatMap((one) => {
        const lines = `${one.additions ?? "-"}\t${one.deletions ?? "-"}\t`;
        return one.oldPath === null ? [`${lines}${one.path}`] : [lines, one.oldPath, one.path];
      });
      expect(counts).toEqual(records(repo, "diff", "--numstat", "-z", "-M", "-l1000", ...range));
    });
  });

  it("The workspace lists git's trees and reads its blobs", async () => {
    await check(8, async (workspace, { repo, shas }) => {
      // The later ones share entries with the first.
      const refs = [
        ["head", shas.head],
        ["base", shas.base],
        ["merge_base", shas.mergeBase],
      ] as const;
      const order = shas.head < shas.base ? refs : refs.toReversed();
      for (const [ref, sha] of order) {
        const tree = await workspace.tree(ref);
        const listed = [...tree.values()].map(({ mode, oid, path }) => {
          const type = mode === "160000" ? "commit" : "blob";
          return `${mode} ${type} ${oid}\t${path}`;
        });
        expect(listed).toEqual(records(repo, "ls-tree", "-r", "-z", sha));
        for (const { mode, oid } of tree.values()) {
          if (mode === "160000") continue;
          const file = await workspace.readBlob(oid);
          const bytes = repo.bytes(["cat-file", "blob", oid]);
          expect(file.text).toBe(decoded(bytes));
          expect(file.encoding).toBe(isUtf8(bytes) ? "utf8" : "latin1");
          expect(file.bytes).toBe(bytes.length);
        }
      }
    });
  });

  it("The workspace prints the patches that git prints, at any width", async () => {
    await check(15, async (workspace, { repo, shas }) => {
      for (const width of [3, 0, 8]) {
        const changes = await workspace.changes();
        const patches = await Promise.all(changes.map((one) => workspace.patch(one, width)));
        const options = [
          "-c",
          "core.quotePath=false",
          "diff",
          `-U${width}`,
          "-M",
          "-l1000",
          "--inter-hunk-context=0",
        ];
        let rest = decoded(repo.bytes([...options, shas.mergeBase, shas.head]));
        for (const patch of patches) {
          expect(rest.slice(0, patch.length)).toBe(patch);
          rest = rest.slice(patch.length);
        }
        expect(rest).toBe("");
      }
    });
  });

  it("The workspace finds literals as git grep finds them", async () => {
    await check(8, async (workspace, { repo, shas }) => {
      for (const pattern of ["needle", "é", "line 1", "@@ -1", "--", "\\", "return 1;"]) {
        const query = { ...needle, pattern, maxResults: 1_000_000, fixedString: true };
        const hits = await workspace.search(query, AbortSignal.timeout(30_000));
        const found =
          hits.mode === "content" ? hits.matches.map((one) => [one.path, one.line, one.text]) : [];
        expect(found.map(String).sort()).toEqual(gitGrep(repo, shas.head, pattern).map(String).sort());
      }
    });
  });
});

/** `git grep -F` on the regular text files of a commit, as path, line number and line. It compares bytes, whatever they mean. */
function gitGrep(repo: GitRepo, sha: string, pattern: string): [string, number, string][] {
  const regular = new Set(
    records(repo, "ls-tree", "-r", "-z", sha).flatMap((one) =>
      one.startsWith("100") ? [one.slice(one.indexOf("\t") + 1)] : [],
    ),
  );
  const found: [string, number, string][] = [];
  // With -z the fields are separated by NUL, and a line ends at its newline.
  const args = ["grep", "-F", "-n", "-z", "-I", "--full-name", "-e", pattern, sha];
  const output = repo.bytes(args, "", [0, 1]);
  for (let at = 0; at < output.length; ) {
    const [pathEnd, numberEnd] = [output.indexOf(0, at), output.indexOf(0, output.indexOf(0, at) + 1)];
    const lineEnd = output.indexOf(10, numberEnd);
    const path = output.toString("utf8", at + sha.length + 1, pathEnd);
    const line = output.subarray(numberEnd + 1, lineEnd);
    if (regular.has(path))
      found.push([path, Number(output.toString("utf8", pathEnd + 1, numberEnd)), decoded(line)]);
    at = lineEnd + 1;
  }
  return found;
}
