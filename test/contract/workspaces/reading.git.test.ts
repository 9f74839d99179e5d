import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Workspace } from "../../../src/repo/git/workspace.ts";
import { toolsOn } from "../../agent/tools/context.ts";
import type { GitRepo } from "../../support/git-repo.ts";
import { type Call, oddCalls } from "./calls.ts";
import { type Kind, kinds, type OpenedWorkspaces, openAll } from "./kinds.ts";
import { createOddRepository } from "./odd-repository.ts";

let repo: GitRepo;
let opened: OpenedWorkspaces;

beforeAll(async () => {
  repo = createOddRepository();
  opened = await openAll(repo);
});
afterAll(async () => {
  await opened?.[Symbol.asyncDispose]();
  repo?.dispose();
});

/** Only git computes the similarity of a renamed file. */
const withoutSimilarity = (text: string) => text.replaceAll(/similarity index \d+%(?:\n|\\n)/g, "");

/** The result of a call for a program and for the model, without its duration and the name of the program that ran. */
async function answer(workspace: Workspace, [tool, sent]: Call) {
  const tools = toolsOn(workspace, { private: ["secrets/"] });
  const { result, text } = await tools.run(tool, sent);
  const { duration_ms, debug, ...metadata } = result.metadata;
  expect(tools.crashes).toEqual([]);
  return withoutSimilarity(JSON.stringify({ ...result, metadata, text }, null, 1));
}

/** The checkout's answers, cached. */
const expected = new Map<Call, Promise<string>>();
function expectedOf(call: Call): Promise<string> {
  const known = expected.get(call) ?? answer(opened.of("checkout"), call);
  expected.set(call, known);
  return known;
}

const tools = [...new Set(oddCalls.map(([tool]) => tool))];

/** Edits contain no commit messages. */
const isAnswered = (kind: Kind, tool: string) => kind !== "overlay" || tool !== "get_commit_messages";

describe.each(kinds.slice(1))("%s", (kind) => {
  it.each(tools.filter((tool) => isAnswered(kind, tool)))(
    "The workspace answers %s as the checkout does",
    async (tool) => {
      for (const call of oddCalls.filter(([name]) => name === tool)) {
        expect({ call, answer: await answer(opened.of(kind), call) }).toEqual({
          call,
          answer: await expectedOf(call),
        });
      }
    },
  );
});

describe.each(kinds)("%s", (kind) => {
  const search = (sent: Record<string, unknown>) =>
    toolsOn(opened.of(kind)).output<{ file_path: string }[]>("search_in_files", sent);

  it("A search reads what git calls text to its end", async () => {
    const found = await search({ pattern: "needle behind", output_mode: "count" });
    expect(found).toEqual([{ file_path: "late.txt", count: 1 }]);
  });

  it("A search marks exactly the lines that are decoded as Latin-1", async () => {
    const noteOf = async (sent: Record<string, unknown>) => {
      const { result } = await toolsOn(opened.of(kind)).run("search_in_files", sent);
      return result.metadata.note ?? "";
    };
    const note = /^Not UTF-8; decoded as Latin-1/;
    expect(await noteOf({ pattern: "^caf", path: "latin.txt", context_lines: 0 })).toMatch(note);
    expect(await noteOf({ pattern: "^é needle", path: "mixed.txt", context_lines: 1 })).toMatch(note);
    expect(await noteOf({ pattern: "^é needle", path: "mixed.txt", context_lines: 0 })).toBe("");
  });

  it("A search reads only files of the type that match the glob", async () => {
    expect(await search({ pattern: "needle", file_type: "py", file_pattern: "*.ts" })).toEqual([]);
  });

  it("The workspace reads the beginning of files of any size, and of nothing else", async () => {
    expect(await opened.of(kind).headStart("latin.txt", 6)).toEqual({ text: "café n", encoding: "latin1" });
    await expect(opened.of(kind).headStart("module", 6)).rejects.toThrow();
  });

  it("The workspace returns the bytes that git keeps", async () => {
    const { oid } = (await opened.of(kind).tree("head")).get("mixed.txt")!;
    expect(await opened.of(kind).readBytes(oid)).toEqual(repo.bytes(["cat-file", "blob", oid]));
  });

  it("An abort ends a search", async () => {
    const query = { pattern: "x", contextLines: 0, maxResults: 1, fixedString: true, ignoreCase: false };
    const rest = { wholeWord: false, invertMatch: false, mode: "content" } as const;
    const search = opened.of(kind).search({ ...query, ...rest }, AbortSignal.abort());
    await expect(search).rejects.toMatchObject({ code: "aborted" });
  });
});
