import { describe, expect, it } from "vitest";
import { forAllRoles, type Model, type ModelRequest } from "../../src/agent/llm/model.ts";
import { runTask } from "../../src/border/run-task.ts";
import { reviewTask } from "../../src/tasks/review/review-task.ts";
import { placeOf } from "../support/checkout-place.ts";
import { GitRepo } from "../support/git-repo.ts";
import { startProcessHere } from "../support/process-here.ts";
import { reviewInput } from "../support/review-input.ts";
import { seeded } from "../support/seeded.ts";

/** A tree by its paths. */
type Tree = Map<string, string>;

const isSecret = (path: string) => path.normalize("NFKC").toLowerCase().startsWith("geheim/schlüssel/");
const privateFolders = [
  "geheim/schlüssel",
  "Geheim/Schlüssel",
  "geheim/schlu\u0308ssel",
  "geheim/ｓchlüssel",
];
const publicFolders = ["src", "docs", "a/b"];

/** A random history: what was there, and what a pull request makes of it. */
function trees(seed: number): { base: Tree; head: Tree } {
  const random = seeded(seed);
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  let count = 0;
  const name = (folders: readonly string[]) => `${pick(folders)}/file-${++count}.js`;
  const text = (word: string) =>
    Array.from({ length: 12 }, (_, line) => `call("${word}-${++count}-${line}");\n`).join("");
  const edited = (old: string) => old.replace(/\n/, `\nedited(${++count});\n`);
  const base: Tree = new Map([["src/app.js", text("open")]]);
  for (let n = 0; n < 6; n++) base.set(name(privateFolders), text("canary"));
  for (let n = 0; n < 6; n++) base.set(name(publicFolders), text("open"));
  const secrets = () => [...base.keys()].filter(isSecret);
  for (let n = 0; n < 2; n++) base.set(name(publicFolders), base.get(pick(secrets())) ?? "");
  const head: Tree = new Map(base);
  head.set("src/app.js", edited(head.get("src/app.js") ?? ""));
  for (const path of secrets()) {
    const old = base.get(path) ?? "";
    const step = pick(["keep", "edit", "delete", "rename", "rename and edit", "copy", "copy twice", "hide"]);
    if (step === "edit") head.set(path, edited(old));
    if (step === "delete" || step.startsWith("rename")) head.delete(path);
    if (step === "rename") head.set(name(publicFolders), old);
    if (step === "rename and edit") head.set(name(publicFolders), edited(old));
    if (step.startsWith("copy")) head.set(name(publicFolders), old);
    if (step === "copy twice") head.set(name(publicFolders), old);
    if (step === "hide") head.set(name(privateFolders), text("canary"));
  }
  return { base, head };
}

function write(repo: GitRepo, before: Tree, after: Tree): void {
  for (const path of before.keys()) if (!after.has(path)) repo.git("rm", "--quiet", "--", path);
  repo.commit("A step", Object.fromEntries(after));
}

/** Every way of reading, of every path there is. */
function allCalls({ base, head }: { base: Tree; head: Tree }) {
  const paths = [...new Set([...base.keys(), ...head.keys()])];
  const calls: [string, Record<string, unknown>][] = [
    ["changed_files", {}],
    ["get_commit_messages", {}],
    ["list_files", { directory: "", with_size: true }],
    ["search_in_files", { pattern: "canary", context_lines: 3 }],
    ["search_in_files", { pattern: "CANARY", case_insensitive: true, output_mode: "count" }],
    ["search_in_files", { pattern: "call", max_results: 400 }],
    ["read_definition", { name: "call" }],
    ["diff_files", { file_paths: paths }],
    ...paths.flatMap((file_path): [string, Record<string, unknown>][] => [
      ["diff_file", { file_path }],
      ["diff_file", { file_path, hunks: [1] }],
      ...["head", "base", "merge_base"].map((ref): [string, Record<string, unknown>] => [
        "read_file_part",
        { file_path, ref },
      ]),
      ["search_in_files", { pattern: "canary", path: file_path }],
    ]),
  ];
  return calls.map(([tool, given], at) => ({
    id: `call_${at}`,
    name: tool,
    arguments: JSON.stringify(given),
  }));
}

describe("private text", { timeout: 300_000 }, () => {
  it("private-text: private text reaches no model, through no tool and no first message", async () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const planned = trees(seed);
      using repo = GitRepo.create();
      write(repo, new Map(), planned.base);
      repo.git("tag", "base");
      write(repo, planned.base, planned.head);
      using placed = await placeOf(repo, "base");
      const asked: string[] = [];
      const calls = allCalls(planned);
      const usage = { promptTokens: 10, cachedTokens: 0, completionTokens: 10, costUsd: null };
      const model: Model = {
        ...{ name: "reader", contextTokens: 4_000_000, protocol: "native" },
        respond: async (request: ModelRequest) => {
          asked.push(JSON.stringify(request));
          const turn = request.messages.filter(({ role }) => role === "assistant").length;
          const finish = { id: `end_${turn}`, name: "finish_review", arguments: '{"summary":"Read."}' };
          const toolCalls = turn === 0 ? calls : [finish];
          return { content: "", toolCalls, finishReason: "tool_calls", usage };
        },
      };
      const facts = { name: model.name, contextTokens: model.contextTokens, protocol: model.protocol };
      const input = reviewInput({
        limits: { turns: 20, tokens: 100_000_000, costUsd: null, milliseconds: 200_000 },
        models: forAllRoles(facts),
        config: { paths: { private: ["geheim/Schlüssel/**"] } },
      });
      const result = await runTask(reviewTask, input, {
        models: forAllRoles(model),
        ...{ place: placed.place, started: startProcessHere(), onProgress: () => {} },
        trajectory: { append: async () => {} },
        signal: new AbortController().signal,
      });
      const told = asked.join("\n");
      expect(told, `seed ${seed}`).toContain("open-");
      expect(
        [...told.matchAll(/canary-\d+-\d+/g)].map(([found]) => found),
        `seed ${seed}`,
      ).toEqual([]);
      const moved = result.coverage.files_skipped.filter(({ path }) => !isSecret(path));
      // Whoever gives code the text of a private file keeps it from being read, and is told so.
      for (const { reason } of moved) expect(reason).toBe("text of a private file");
      expect(result.stop_reason).toBe("finished");
    }
  });
});
