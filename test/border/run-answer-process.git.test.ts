import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { forAllRoles, type Model } from "../../src/agent/llm/model.ts";
import { isLoopEntry, type LoopEntry } from "../../src/agent/record/trajectory.ts";
import { runTask } from "../../src/border/run-task.ts";
import { RepoConfig } from "../../src/config/repo-config.ts";
import type { RevisionPlace } from "../../src/repo/git/workspace.ts";
import { type AnswerInput, answerTask } from "../../src/tasks/answer/answer-input.ts";
import { placeOf } from "../support/checkout-place.ts";
import { GitRepo } from "../support/git-repo.ts";
import { scriptedModel } from "../support/scripted.ts";

let repo: GitRepo;
let placed: Disposable & { place: RevisionPlace };
beforeAll(async () => {
  repo = GitRepo.create();
  repo.commit("before", { "a.js": "a();\n", "secret.js": "one();\n" });
  repo.git("tag", "base");
  repo.commit("after", { "a.js": "b();\n", "secret.js": "two();\n" });
  placed = await placeOf(repo, "base");
});
afterAll(() => {
  placed?.[Symbol.dispose]();
  repo?.[Symbol.dispose]();
});

const input: AnswerInput = {
  targetBranch: "main",
  pull: { number: 7, title: "Call b", body: "" },
  question: { by: "octocat", body: "What is called now?" },
  thread: null,
  config: RepoConfig.parse({ paths: { private: ["secret.js"] } }),
  limits: { turns: 20, tokens: 300_000, costUsd: null, milliseconds: 60_000 },
  models: forAllRoles({ name: "scripted", contextTokens: 128_000, protocol: "native" }),
};

function ask(model: Model, signal = new AbortController().signal) {
  const entries: LoopEntry[] = [];
  const result = runTask(answerTask, input, {
    ...{ place: placed.place, models: forAllRoles(model) },
    trajectory: {
      async append(entry) {
        if (isLoopEntry(entry)) entries.push(entry);
      },
    },
    onProgress: () => {},
    signal,
  });
  return { result, entries };
}

describe("a process that answers a question", () => {
  it("A process that answers a question reads the checkout, withholds what is private", async () => {
    const read = (path: string) => ({ name: "read_file_part", arguments: { file_path: path } });
    const model = scriptedModel([
      { toolCalls: [read("a.js"), read("secret.js")] },
      { toolCalls: [{ name: "reply", arguments: { text: "`b()`, in a.js:1." } }] },
    ]);
    const { result, entries } = ask(model);

    expect(await result).toMatchObject({
      ...{ text: "`b()`, in a.js:1.", stop_reason: "finished", model: "scripted" },
      usage: { requests: 2 },
    });
    expect(JSON.stringify(model.requests)).not.toContain("two()");
    expect(entries.map(({ kind, loop }) => `${loop} ${kind}`)).toEqual([
      ...["answer messages", "answer turn", "answer tool_results"],
      ...["answer turn", "answer tool_results", "answer stopped"],
    ]);
  });

  it("A process that answers a question rejects when it is aborted", async () => {
    const abort = new AbortController();
    const never: Model = {
      ...scriptedModel([]),
      respond: () => {
        abort.abort();
        return new Promise(() => {});
      },
    };
    await expect(ask(never, abort.signal).result).rejects.toMatchObject({ code: "aborted" });
  });
});
