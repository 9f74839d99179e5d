import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import type { PostedFinding } from "../../src/core/ledger/entry.ts";
import { openRepository } from "../agent/tools/context.ts";
import { GitRepo } from "../support/git-repo.ts";
import type { ScriptedTurn } from "../support/scripted.ts";
import {
  comment,
  confirms,
  finding,
  names,
  type Rounds,
  reports,
  round,
  textOf,
} from "../tasks/review/followup/later-round.ts";

/** Reverses the order of the following text, so that code looks like a comment; and adds invisible text. */
const hidden: Record<number, string> = {
  3: "export const n3 = 3; // \u202E } \u2066 if (isAdmin)",
  6: "export const n6 = 6; // \u{E0041}\u{E0042}\u{E0043}",
};
const lines = Array.from({ length: 12 }, (_, at) => `export const n${at + 1} = ${at + 1};`);

let repo: GitRepo;
let rounds: Rounds;
beforeAll(() => {
  repo = GitRepo.create();
  const text = (change: (line: string, at: number) => string) => `${lines.map(change).join("\n")}\n`;
  repo.commit("base", { "a.ts": text((line) => line) });
  repo.branch("topic").commit("Hide it", {
    "a.ts": text((line, at) => hidden[at + 1] ?? line),
  });
  const opened = openRepository(repo, { head: "topic" });
  rounds = { open: () => opened, dispose: async () => (await opened)[Symbol.asyncDispose]() };
});
afterAll(async () => {
  await rounds.dispose();
  repo.dispose();
});

/** A comment about something else on the first of these lines. */
const dismissed: PostedFinding = comment({
  ...{ path: "a.ts", line: 3, original_line: 3, symbol: null, code: null, state: "dismissed" },
  ...{
    severity: "critical",
    category: "maintainability",
    title: "The constant has a poor name",
    text: "Rename it.",
  },
});
const other = finding({ path: "a.ts", line: 3, quote: hidden[3], title: "Carts go below zero" });

/** The findings reported, by line and source, if the model says that every pair describes one problem. */
async function reported(compare: (pairs: object[]) => ScriptedTurn | Error, verify = () => confirms()) {
  const { result, asked } = await round(rounds, {
    head: "first",
    earlier: [dismissed],
    script: {
      ...{ review: () => reports(other), verify },
      compare(request) {
        const pairs = [...textOf(request).matchAll(/^(\w+) and (\w+)$/gm)];
        return compare(pairs.map(([, one, earlier]) => ({ finding: one, earlier })));
      },
    },
  });
  const silent = new Set(result.ledger?.repeats.map((one) => one.finding));
  return {
    asked: asked("compare").length,
    lines: result.findings
      .filter((one) => !silent.has(one.finding.id))
      .map((one) => `${one.finding.line} ${one.finding.source.split("/")[0]}`),
  };
}

const refutes = (): ScriptedTurn => ({
  toolCalls: [
    {
      name: "report_verdict",
      arguments: {
        ...{ verdict: "refuted", reason: "It is a joke.", severity: "low" },
        evidence: [{ path: "a.ts", start_line: 1, end_line: 1, note: "a joke" }],
      },
    },
  ],
});
const all = ["3 hidden-characters", "6 hidden-characters"];

describe("characters that hide code, on lines and beside lines whose comment a person dismissed", () => {
  it("invisible-characters: Each is reported although a model says that a comment already reports it", async () => {
    expect(await reported((pairs) => names(...pairs))).toEqual({ asked: 1, lines: all });
  });

  it("invisible-characters: Each is reported although a model refutes everything", async () => {
    expect((await reported(() => names(), refutes)).lines).toEqual(all);
  });

  it("invisible-characters: Each is reported although no model answers", async () => {
    const fails = await reported(() => new AppError("model_failed", "no answer"));
    // Without the model's word, its own finding there is none that a person dismissed.
    expect(fails.lines).toEqual([...all, "3 model"]);
  });

  it("Each is reported beside a model's finding there, if the model calls it another problem", async () => {
    const { lines: both } = await reported(() => names());
    expect(both.toSorted()).toEqual(["3 hidden-characters", "3 model", "6 hidden-characters"]);
  });
});
