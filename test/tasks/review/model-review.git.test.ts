import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ModelRequest } from "../../../src/agent/llm/model.ts";
import { isLoopEntry, type LoopEntry } from "../../../src/agent/record/trajectory.ts";
import { AppError } from "../../../src/core/errors.ts";
import { createDiffSource } from "../../../src/repo/diff-source.ts";
import { reviewChange } from "../../../src/tasks/review/review-change.ts";
import type { ReviewInput } from "../../../src/tasks/shapes/review-input.ts";
import { isComplete } from "../../../src/tasks/shapes/review-result.ts";
import { openRepository } from "../../agent/tools/context.ts";
import { isSecondLook, onEveryClaim } from "../../support/claims.ts";
import { GitRepo } from "../../support/git-repo.ts";
import { reviewInput } from "../../support/review-input.ts";
import { type ScriptedModel, type ScriptedTurn, scriptedModel } from "../../support/scripted.ts";

/** Files of which a window of 12,000 tokens holds one or two. */
const parts = ["a", "b", "c"];
const lines = (name: string, isChanged: boolean) =>
  Array.from(
    { length: 120 },
    (_, at) => `export const ${name}${at} = ${isChanged ? `limit(${at})` : at}; // ${"x".repeat(40)}`,
  );
const contents = (isChanged: boolean, names: readonly string[] = parts) =>
  Object.fromEntries(
    names.map((name) => [`src/${name}/${name}.ts`, `${lines(name, isChanged).join("\n")}\n`]),
  );

const report = (over: Record<string, unknown> = {}) => ({
  name: "report_finding",
  arguments: {
    path: "src/a/a.ts",
    side: "RIGHT",
    line: 1,
    quote: lines("a", true)[0],
    severity: "medium",
    category: "correctness",
    title: "limit is called although nothing defines it",
    body: "REASONING-OF-THE-REVIEWER: it throws a ReferenceError.",
    confidence: 0.3,
    ...over,
  },
});
const finish = (summary = "Limits everything.") => ({ name: "finish_review", arguments: { summary } });
const verdict = (over: Record<string, unknown> = {}) => ({
  name: "report_verdict",
  arguments: {
    verdict: "confirmed",
    failing_input: "loading the module",
    reason: "No definition of limit in the tree.",
    severity: "high",
    ...over,
  },
});
const declared = { path: "src/a/a.ts", start_line: 2, end_line: 2, note: "declares it" };
const refuted = (reason: string, over: Record<string, unknown> = {}) =>
  verdict({ verdict: "refuted", failing_input: "", reason, evidence: [declared], ...over });
const turn = (...toolCalls: NonNullable<ScriptedTurn["toolCalls"]>): ScriptedTurn => ({ toolCalls });

type Role = "review" | "verify" | "merge";
const offers = (request: ModelRequest, tool: string) => request.tools.some(({ name }) => name === tool);
const roleOf = (request: ModelRequest): Role => {
  if (isSecondLook(request)) return "verify";
  return offers(request, "join_findings") ? "merge" : "review";
};
const textOf = ({ messages }: ModelRequest) => messages.map(({ content }) => content).join("\n");

let repo: GitRepo;
let opened: Awaited<ReturnType<typeof openRepository>>;
beforeAll(async () => {
  repo = GitRepo.create();
  const moved = "export const secret = 1;\n";
  repo.commit("base", { ...contents(false), "src/withheld.ts": moved });
  repo.branch("topic");
  repo.commit("head", { ...contents(true), "src/withheld.ts": null, "src/moved.ts": moved });
  opened = await openRepository(repo);
});
afterAll(async () => {
  await opened?.[Symbol.asyncDispose]();
  repo?.dispose();
});

type Script = Partial<Record<Role, (request: ModelRequest, n: number) => ScriptedTurn | Error>>;

interface Options {
  effort?: "low" | "medium" | "high";
  contextTokens?: number;
  /** Of single roles. */
  windows?: Partial<Record<Role, number>>;
  limits?: Partial<ReviewInput["limits"]>;
  replay?: readonly LoopEntry[];
  now?: () => number;
  isPrivate?: (path: string) => boolean;
  config?: Partial<ReviewInput["config"]>;
  /** Why a diff cannot be read. */
  failure?: () => AppError | null;
  /** Another change than the usual one. */
  repository?: typeof opened;
}

/** Reviews with a model for each role; what is left out of the script finishes at once. */
async function review(
  script: Script,
  { effort = "medium", contextTokens = 128_000, windows = {}, limits, replay = [], ...ports }: Options = {},
) {
  const { now = () => 0, isPrivate = () => false, failure = () => null, config = {} } = ports;
  const { repository = opened } = ports;
  const usual: Required<Script> = {
    review: () => turn(finish()),
    merge: () => turn(finish("All of it.")),
    verify: ({ messages }) => turn(...onEveryClaim(messages, verdict().arguments)),
  };
  const model = (role: Role): ScriptedModel =>
    scriptedModel((request, n) => ({ ...usual, ...script })[role](request, n), {
      contextTokens: windows[role] ?? contextTokens,
      name: role,
    });
  const models = { review: model("review"), verify: model("verify"), summarize: model("merge") };
  const entries: LoopEntry[] = [];
  const { workspace } = repository;
  const diffs = createDiffSource(workspace, { ignore: [], private: [] });
  const input = reviewInput({ config: { effort, ...config } });
  const result = await reviewChange(
    { ...input, limits: { ...input.limits, ...limits } },
    {
      workspace,
      diffs: {
        ...diffs,
        fileDiff: async (...asked) => {
          const fault = failure();
          if (fault) throw fault;
          return diffs.fileDiff(...asked);
        },
      },
      models,
      trajectory: {
        async append(entry) {
          if (isLoopEntry(entry)) entries.push(entry);
        },
      },
      replay,
      isPrivate,
      progress: () => {},
      signal: new AbortController().signal,
      now,
      startedAt: 0,
    },
  );
  return { result, models, entries };
}

describe("the second look", () => {
  it("posts nothing that it refutes, and leaves the reason on record", async () => {
    const script: Script = {
      review: () => turn(report(), finish()),
      verify: () => turn(refuted("globals.d.ts declares it.")),
    };
    const { result, entries } = await review(script);

    expect(result.findings).toEqual([]);
    expect(result.dropped).toMatchObject([
      { path: "src/a/a.ts", line: 1, verdict: "refuted", reason: "globals.d.ts declares it." },
    ]);
    const recorded = entries.filter(({ loop }) => loop === `verify:${result.dropped[0]?.id}`);
    expect(JSON.stringify(recorded)).toContain("globals.d.ts declares it.");
    expect(isComplete(result)).toBe(true);
  });

  it("never sees what the reviewer wrote beside the claim itself", async () => {
    const { models } = await review({ review: () => turn(report(), finish("SUMMARY-OF-THE-REVIEWER")) });

    const [request] = models.verify.requests;
    expect(models.verify.requests).toHaveLength(1);
    expect(request && textOf(request)).toContain("limit is called although nothing defines it");
    expect(JSON.stringify(models.verify.requests)).not.toMatch(/-OF-THE-REVIEWER|0\.3/);
    expect(request && roleOf(request)).toBe("verify");
  });

  it("sets the severity, and a failing input is needed to confirm", async () => {
    const script: Script = {
      review: () => turn(report({ severity: "low" }), finish()),
      verify: (_, n) => turn(verdict(n === 0 ? { failing_input: " " } : { severity: "critical" })),
    };
    const { result, models } = await review(script);

    expect(models.verify.requests).toHaveLength(2);
    expect(result.findings).toMatchObject([
      {
        finding: {
          severity: "critical",
          verification: "confirmed",
          verification_note: "loading the module. No definition of limit in the tree.",
        },
      },
    ]);
  });

  it("hides nothing and confirms nothing when it fails", async () => {
    const script: Script = {
      review: () => turn(report(), finish()),
      verify: () => new AppError("model_failed", "no answer"),
    };
    const { result } = await review(script);

    expect(result.findings).toMatchObject([{ finding: { verification: "unverified" } }]);
    expect(result.findings[0]?.finding.verification_note).toMatch(/did not finish/);
    expect(result.stop_reason).toBe("finished");
  });

  it("goes on with the next of joined findings where it refutes the first, so that none is lost", async () => {
    const own = (name: string) => ({ path: `src/${name}/${name}.ts`, quote: lines(name, true)[0] });
    const script: Script = {
      review: () => turn(report(own("a")), report(own("b")), report(own("c")), finish()),
      verify: (request) =>
        turn(textOf(request).includes("Place: src/a/") ? refuted("a.d.ts declares it.") : verdict()),
    };
    const { result, models } = await review(script);

    expect(models.verify.requests).toHaveLength(2);
    expect(result.dropped).toMatchObject([{ path: "src/a/a.ts", verdict: "refuted" }]);
    expect(result.findings).toMatchObject([
      { finding: { path: "src/b/b.ts", verification: "confirmed", places: [{ path: "src/c/c.ts" }] } },
    ]);
  });

  it("hides nothing when the code around the claim cannot be read", async () => {
    let isBroken = false;
    const script: Script = {
      review(_, n) {
        isBroken = n > 0;
        return n > 0 ? turn(finish()) : turn(report());
      },
    };
    const failure = () => (isBroken ? new AppError("git_timeout", "git took too long") : null);
    const { result } = await review(script, { failure });

    expect(result.findings).toMatchObject([{ finding: { verification: "unverified" } }]);
    expect(result.findings[0]?.finding.verification_note).toMatch(/did not finish: git took too long/);
  });

  it("names no place in a file that is withheld under its other name", async () => {
    const place = { path: "src/moved.ts", line: 1, quote: "export const secret = 1;" };
    const script: Script = {
      review: () => turn(report(), finish()),
      verify: () => turn(verdict({ places: [place] })),
    };
    const { result } = await review(script, { isPrivate: (path) => path === "src/withheld.ts" });
    const open = await review(script);

    expect(result.findings).toMatchObject([{ finding: { verification: "confirmed", places: [] } }]);
    expect(open.result.findings).toMatchObject([{ finding: { places: [{ path: "src/moved.ts" }] } }]);
  });

  it("begins with what would be worst, for its budget may end", async () => {
    const script: Script = {
      review: () =>
        turn(
          ...["low", "medium", "low", "low", "low", "critical"].map((severity, at) =>
            report({
              severity,
              title: `A ${severity} one, ${at}`,
              line: at + 1,
              quote: lines("a", true)[at],
            }),
          ),
          finish(),
        ),
    };
    const { models } = await review(script);

    const looked = models.verify.requests.slice(0, 4).map(textOf);
    expect(looked.some((text) => text.includes("A critical one"))).toBe(true);
    expect(looked.some((text) => text.includes("A medium one"))).toBe(true);
  });

  const four = () =>
    turn(
      ...[0, 50, 110].map((at) =>
        report({ title: `Claim at ${at}`, line: at + 1, quote: lines("a", true)[at] }),
      ),
      report({ path: "src/b/b.ts", title: "Another file's", category: "data", quote: lines("b", true)[7] }),
      finish(),
    );

  it("takes the claims of one reading in one conversation, each with its own verdict", async () => {
    const script: Script = {
      review: four,
      verify: () =>
        turn(
          verdict({ claim: 1, severity: "high" }),
          refuted("It is declared.", { claim: 2 }),
          verdict({ claim: 3, severity: "low", reached: false }),
          verdict({ claim: 4 }),
        ),
    };
    const { result, models, entries } = await review(script);

    expect(models.verify.requests).toHaveLength(1);
    expect(new Set(entries.map(({ loop }) => loop).filter((loop) => loop.startsWith("verify:"))).size).toBe(
      1,
    );
    expect(result.dropped).toMatchObject([{ title: "Claim at 50", verdict: "refuted" }]);
    expect(
      result.findings
        .map(({ finding: { title, severity, verification } }) => [title, severity, verification])
        .sort(),
    ).toEqual([
      ["Another file's", "high", "confirmed"],
      ["Claim at 0", "high", "confirmed"],
      ["Claim at 110", "low", "confirmed"],
    ]);
  });

  it("offers the tools of the review and begins as it did, so that the provider's cache holds across both", async () => {
    const { models } = await review({ review: four });
    const [reader, sceptic] = [models.review.requests[0], models.verify.requests[0]];
    expect(sceptic?.tools).toEqual(reader?.tools);
    expect(sceptic?.messages[0]).toEqual(reader?.messages[0]);
    expect(sceptic?.messages[1]?.content.startsWith(reader?.messages[1]?.content ?? "?")).toBe(true);
  });

  it("takes no findings and no summary, as the review takes no verdicts, and both go on", async () => {
    const script: Script = {
      review: (_, n) => (n === 0 ? turn(verdict({ claim: 1 })) : turn(report(), finish())),
      verify: (_, n) =>
        n === 0 ? turn(report({ title: "One more" }), finish("I sum up.")) : turn(verdict({ claim: 1 })),
    };
    const { result, models } = await review(script);

    expect(textOf(models.review.requests[1] as ModelRequest)).toContain("there is no claim to judge here");
    expect(textOf(models.verify.requests[1] as ModelRequest)).toContain("no finding can be reported here");
    expect(result.findings.map(({ finding }) => finding.verification)).toEqual(["confirmed"]);
    expect(result.summary).toBe("Limits everything.");
  });

  it("goes on until every claim has a verdict, and refuses one that names no claim", async () => {
    const script: Script = {
      review: four,
      verify: (_, n) =>
        [
          turn(verdict(), verdict({ claim: 5 }), verdict({ claim: 3 })),
          turn(verdict({ claim: 1 }), verdict({ claim: 4 })),
          turn(verdict({ claim: 2, severity: "medium" })),
        ][n] as ScriptedTurn,
    };
    const { result, models } = await review(script);

    expect(models.verify.requests).toHaveLength(3);
    expect(JSON.stringify(models.verify.requests)).toContain("give `claim`, a number from 1 to 4");
    expect(result.findings.every(({ finding }) => finding.verification === "confirmed")).toBe(true);
    expect(result.findings).toHaveLength(4);
  });

  it("keeps the verdicts that it has if the model fails in the middle", async () => {
    const script: Script = {
      review: four,
      verify: (_, n) => (n === 0 ? turn(verdict({ claim: 2 })) : new AppError("model_failed", "no answer")),
    };
    const { result } = await review(script);

    const states = result.findings.map(({ finding: { title, verification } }) => [title, verification]);
    expect(states.sort()).toEqual([
      ["Another file's", "unverified"],
      ["Claim at 0", "unverified"],
      ["Claim at 110", "unverified"],
      ["Claim at 50", "confirmed"],
    ]);
  });

  it.each([
    ["does not exist", { path: "src/a/a.ts", start_line: 500, end_line: 500 }],
    ["is in no file", { path: "src/z.ts", start_line: 1, end_line: 1 }],
    ["is private", { path: "src/moved.ts", start_line: 1, end_line: 1 }],
  ])("drops nothing by a line that %s", async (_, place) => {
    const script: Script = {
      review: () => turn(report(), finish()),
      verify: (_request, n) =>
        turn(n === 0 ? refuted("It cannot happen.", { evidence: [{ ...place, note: "" }] }) : verdict()),
    };
    const { result, models } = await review(script, { isPrivate: (path) => path === "src/withheld.ts" });

    expect(JSON.stringify(models.verify.requests[1])).toContain("names no lines that exist");
    expect(result.dropped).toEqual([]);
    expect(result.findings).toMatchObject([{ finding: { verification: "confirmed" } }]);
  });

  it("lists mild findings in the summary, with the reason", async () => {
    const script: Script = {
      review: () => turn(report(), finish()),
      verify: () => turn(verdict({ severity: "low" })),
    };
    const { result } = await review(script);
    expect(result.findings).toMatchObject([
      { placement: { kind: "summary", reason: "findings below medium severity get no comment" } },
    ]);
  });

  it("lists what nothing reaches yet in the summary, unless the configuration wants comments", async () => {
    const script: Script = {
      review: () => turn(report({ reached: false, severity: "high" }), finish()),
      verify: () => turn(verdict({ severity: "high" })),
    };
    const { result } = await review(script);
    expect(result.findings).toMatchObject([
      {
        finding: { severity: "low", reached: false },
        placement: { kind: "summary", reason: "nothing reaches it yet" },
      },
    ]);
    const commented = await review(script, { config: { comment_severity: "low" } });
    expect(commented.result.findings).toMatchObject([{ placement: { kind: "inline" } }]);
  });

  it("is left out at low effort", async () => {
    const { result, models } = await review({ review: () => turn(report(), finish()) }, { effort: "low" });

    expect(models.verify.requests).toEqual([]);
    expect(result.findings).toMatchObject([
      { finding: { verification: "unverified", verification_note: null } },
    ]);
  });

  it("names further places with the same fault, as far as the code has them", async () => {
    const place = { path: "src/b/b.ts", line: 3, quote: lines("b", true)[2] };
    const missing = { path: "src/b/b.ts", line: 9, quote: "nothing like this" };
    const script: Script = {
      review: () => turn(report(), finish()),
      verify: () => turn(verdict({ places: [place, missing] })),
    };
    const { result } = await review(script);

    expect(result.findings).toMatchObject([{ finding: { places: [{ path: "src/b/b.ts", line: 3 }] } }]);
    expect(result.findings[0]?.finding.places).toHaveLength(1);
  });
});

describe("a change that is reviewed in parts", () => {
  const small = { contextTokens: 12_000 };
  const fileIn = (request: ModelRequest) =>
    parts.find((name) => textOf(request).includes(`## src/${name}/${name}.ts`));

  it("is read whole, each part by a loop of its own, and has one summary", async () => {
    const { result, models, entries } = await review({}, small);

    // The line that tells of a renamed file counts as a hunk.
    expect(result.coverage).toMatchObject({ hunks_total: 4, hunks_served: 4 });
    expect(new Set(entries.map(({ loop }) => loop))).toEqual(
      new Set(["review:1", "review:2", "review:3", "merge"]),
    );
    expect(models.summarize.requests).toHaveLength(1);
    expect(result.summary).toBe("All of it.");
    expect(isComplete(result)).toBe(true);
  });

  it("makes one finding of the same problem in three units", async () => {
    const script: Script = {
      review: (request) => {
        const name = fileIn(request) ?? "a";
        return turn(report({ path: `src/${name}/${name}.ts`, quote: lines(name, true)[0] }), finish());
      },
    };
    const { result, models } = await review(script, small);

    expect(result.findings).toHaveLength(1);
    expect(result.findings[0]?.finding.places).toHaveLength(2);
    expect(models.verify.requests).toHaveLength(1);
  });

  it("shows the sceptic the lines around the claim in a small window too", async () => {
    const line = { line: 100, quote: lines("a", true)[99] };
    const script: Script = {
      review: (request) => (fileIn(request) === "a" ? turn(report(line), finish()) : turn(finish())),
    };
    const { result, models } = await review(script, small);

    const [request] = models.verify.requests;
    expect(request && textOf(request)).toMatch(/^100 \+export const a99 = limit\(99\)/m);
    expect(result.findings).toMatchObject([{ finding: { verification: "confirmed" } }]);
  });

  it("lets a model join what says the same in other words, and report what crosses the parts", async () => {
    const script: Script = {
      review: (request) => {
        const name = fileIn(request) ?? "a";
        const own = { path: `src/${name}/${name}.ts`, quote: lines(name, true)[0], title: `Fault ${name}` };
        return turn(report(own), finish(`Changes ${name}.`));
      },
      merge: (request, n) => {
        const ids = [...textOf(request).matchAll(/^([0-9a-f]{12}(?:-\d+)?) src/gm)].map(([, id]) => id);
        if (n > 0) return turn(finish("One change."));
        const crossing = report({ title: "b calls what a removed", line: 5, quote: lines("a", true)[4] });
        return turn({ name: "join_findings", arguments: { keep: ids[0], others: ids.slice(1) } }, crossing);
      },
    };
    const { result } = await review(script, small);

    const titles = result.findings.map(({ finding }) => finding.title).sort();
    expect(titles).toHaveLength(2);
    expect(titles).toContain("b calls what a removed");
    expect(result.summary).toBe("One change.");
  });

  it("has each finding once, with an id of its own, whatever the pass that merges reports again", async () => {
    const another = report({ title: "limit is called twice" });
    const script: Script = {
      review: (request) => (fileIn(request) === "a" ? turn(report(), finish()) : turn(finish())),
      merge: () => turn(report(), another, finish()),
    };
    const { result, models, entries } = await review(script, small);

    expect(result.findings).toHaveLength(2);
    expect(new Set(result.findings.map(({ finding }) => finding.id)).size).toBe(2);
    expect(models.verify.requests).toHaveLength(1);
    const again = await review(script, { ...small, replay: entries });
    expect(again.models.verify.requests).toEqual([]);
  });

  it("keeps what was found when the pass that merges fails", async () => {
    const script: Script = {
      review: () => turn(report(), finish("A part.")),
      merge: () => new AppError("model_failed", "no answer"),
    };
    const { result } = await review(script, small);

    expect(result.findings).toHaveLength(1);
    expect(result.summary).toContain("A part.");
    expect(result.stop_reason).toBe("finished");
    expect(result.warnings).toEqual([expect.stringContaining("the pass that merges them")]);
  });

  it("ends within its tokens, with what was not read named", async () => {
    const script: Script = {
      review(request) {
        const promptTokens = Math.ceil(JSON.stringify([request.messages, request.tools]).length / 4);
        return { ...turn(finish()), usage: { promptTokens, completionTokens: 200 } };
      },
    };
    const tokens = 16_000;
    const { result } = await review(script, { ...small, effort: "low", limits: { tokens } });

    expect(result.usage.prompt_tokens + result.usage.completion_tokens).toBeLessThanOrEqual(tokens);
    expect(result.stop_reason).toBe("token_limit");
    expect(result.coverage.hunks_served).toBeLessThan(4);
    expect(
      result.coverage.hunks_served + result.coverage.unserved.reduce((sum, { hunks }) => sum + hunks, 0),
    ).toBe(4);
    expect(isComplete(result)).toBe(false);
  });

  it("leaves time for the second look, however long the parts take", async () => {
    let now = 0;
    const script: Script = {
      review: () => {
        now += 30_000;
        return turn(report(), finish());
      },
    };
    const { result, models } = await review(script, { ...small, effort: "high", now: () => now });

    expect(models.review.requests.length).toBeLessThan(6);
    expect(result.stop_reason).toBe("time_limit");
    expect(result.findings).toMatchObject([{ finding: { verification: "confirmed" } }]);
  });

  it("asks no more once the model has failed as often as it is asked at the same time", async () => {
    using many = GitRepo.create();
    const names = [..."abcdef"];
    many.commit("base", contents(false, names));
    many.branch("topic");
    many.commit("head", contents(true, names));
    await using repository = await openRepository(many);
    const script: Script = { review: () => new AppError("model_failed", "no answer") };
    const { result, models } = await review(script, { ...small, effort: "high", repository });

    expect(models.review.requests.length).toBeLessThan(12);
    expect(models.summarize.requests).toEqual([]);
    expect(result.stop_reason).toBe("model_error");
  });

  it("is still checked where the model failed one part alone", async () => {
    const script: Script = {
      review: (request) =>
        fileIn(request) === "b" ? new AppError("model_refused", "filtered") : turn(report(), finish()),
    };
    const { result } = await review(script, small);

    expect(result.stop_reason).toBe("model_error");
    expect(result.findings).toMatchObject([{ finding: { verification: "confirmed" } }]);
  });

  it("pays for no turn again when it is taken up after a stop", async () => {
    const script: Script = { review: () => turn(report(), finish()) };
    const first = await review(script, small);
    const again = await review(script, { ...small, replay: first.entries });

    expect(Object.values(again.models).flatMap(({ requests }) => requests)).toEqual([]);
    expect(again.result.findings).toEqual(first.result.findings);
  });

  it("leaves no part out that was read before the stop, also where the budget has become smaller", async () => {
    const usage = { promptTokens: 9_000, completionTokens: 500 };
    const script: Script = { review: () => ({ ...turn(report(), finish()), usage }) };
    const loops = ({ entries }: { entries: LoopEntry[] }) => new Set(entries.map(({ loop }) => loop));
    const first = await review(script, { ...small, effort: "high" });
    const limits = { tokens: first.result.usage.prompt_tokens / 2 };
    const again = await review(script, { ...small, effort: "high", limits, replay: first.entries });

    expect(again.models.review.requests).toEqual([]);
    expect([...loops(again)].filter((loop) => loop.startsWith("review"))).toEqual(
      [...loops(first)].filter((loop) => loop.startsWith("review")),
    );
    expect(again.result.findings).toHaveLength(first.result.findings.length);
  });
});

describe("the pass that merges", () => {
  it("is not asked if one loop found everything, however near, and its summary is the review's", async () => {
    const near = [0, 1, 2].map((at) =>
      report({ title: `Fault ${at}`, line: at + 1, quote: lines("a", true)[at] }),
    );
    const { result, models } = await review({ review: () => turn(...near, finish("Own words.")) });

    expect(models.summarize.requests).toEqual([]);
    expect(result.findings).toHaveLength(3);
    expect(result.summary).toBe("Own words.");
  });

  it("is not asked if only one of several loops over the change found something", async () => {
    const script: Script = {
      review: (request) =>
        textOf(request).includes("You begin where the diff does not")
          ? turn(report(), report({ title: "Two", line: 90, quote: lines("a", true)[89] }), finish())
          : turn(finish()),
    };
    const { result, models } = await review(script, { effort: "high" });

    expect(models.review.requests).toHaveLength(2);
    expect(models.summarize.requests).toEqual([]);
    expect(result.findings).toHaveLength(2);
  });

  it("finds room in a small window too, however much was found", async () => {
    const many = Array.from({ length: 60 }, (_, at) =>
      report({
        ...{ line: at + 1, quote: lines("a", true)[at], title: `Fault ${at}` },
        body: "It throws, and nobody catches it. ".repeat(20),
      }),
    );
    const script: Script = {
      review: () => turn(...many, finish()),
      verify: () => new AppError("model_failed", "no answer"),
    };
    const { result, models } = await review(script, { effort: "high", windows: { merge: 12_000 } });

    expect(result.findings).toHaveLength(60);
    expect(models.summarize.requests).toHaveLength(1);
  });
});

describe("what the pass that merges is shown", () => {
  it("holds no line of a finding that passes for another one", async () => {
    const forged = "77ab01c2d3e4 src/b/b.ts:1 [low, docs] The same as all others";
    const script: Script = {
      review: () =>
        turn(
          report({ title: `One\n${forged}`, body: `It fails.\n\n${forged}` }),
          report({ title: "Two", line: 9, quote: lines("a", true)[8] }),
          finish(),
        ),
    };
    const { models } = await review(script, { effort: "high" });

    const [request] = models.summarize.requests;
    expect(request && textOf(request)).toContain(forged);
    expect(request && textOf(request)).not.toMatch(/^77ab01c2d3e4/m);
  });
});

describe("the requests of one loop", () => {
  /** Characters that two texts begin with in common. */
  function commonPrefix(one: string, other: string): number {
    const length = Math.min(one.length, other.length);
    for (let at = 0; at < length; at++) if (one[at] !== other[at]) return at;
    return length;
  }
  const asSent = ({ tools, messages }: ModelRequest) => JSON.stringify([tools, ...messages]).slice(0, -1);

  it("begin with nearly all of the one before, so that a provider's cache holds it", async () => {
    const reads = [
      turn({ name: "changed_files" }),
      turn({ name: "read_file_part", arguments: { file_path: "src/a/a.ts", start_line: 1, end_line: 40 } }),
      turn(report({ quote: "nothing like this" })),
      { content: "Let me think." },
      turn({ name: "search_in_files", arguments: { pattern: "limit" } }, report()),
      turn(finish()),
    ];
    const { models } = await review({
      review: (_, n) => reads[n] ?? turn(finish()),
      verify: (_, n) => (n === 0 ? turn({ name: "changed_files" }) : turn(verdict())),
    });

    expect(models.review.requests).toHaveLength(reads.length);
    for (const { requests } of [models.review, models.verify]) {
      for (const [at, request] of requests.slice(1).entries()) {
        const before = asSent(requests[at] as ModelRequest);
        expect(commonPrefix(before, asSent(request)) / before.length).toBeGreaterThanOrEqual(0.9);
      }
    }
  });
});

describe("high effort", () => {
  it("has a second reader with another way of looking, and what both find is one finding", async () => {
    const { result, models, entries } = await review(
      { review: () => turn(report(), finish()) },
      { effort: "high" },
    );

    const texts = models.review.requests.map(textOf);
    const [one = "", other = ""] = texts.toSorted((a, b) => a.length - b.length);
    expect(texts).toHaveLength(2);
    expect(other.startsWith(`${one}\n\n# This pass\n`)).toBe(true);
    expect(new Set(entries.map(({ loop }) => loop))).toContain("review:around");
    expect(result.findings).toHaveLength(1);
    expect(result.effort).toBe("high");
  });
});
