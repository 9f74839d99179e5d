import type { Model, ModelRequest, Protocol } from "../../../../src/agent/llm/model.ts";
import { withTextProtocol } from "../../../../src/agent/llm/text-fallback.ts";
import type { LoopEntry, Trajectory } from "../../../../src/agent/record/trajectory.ts";
import type { Effort } from "../../../../src/config/repo-config.ts";
import { codeHash, type PostedFinding } from "../../../../src/core/ledger/entry.ts";
import { reviewChange } from "../../../../src/tasks/review/review-change.ts";
import type { Analyzer } from "../../../../src/tasks/rules/analyzers/analyzer.ts";
import type { History, ReviewInput } from "../../../../src/tasks/shapes/review-input.ts";
import { openRepository } from "../../../agent/tools/context.ts";
import { postedFinding } from "../../../pull/ledger/posted-finding.ts";
import { rejectingOthers } from "../../../support/answer-candidates.ts";
import { isSecondLook, onEveryClaim } from "../../../support/claims.ts";
import { GitRepo } from "../../../support/git-repo.ts";
import { reviewDependencies } from "../../../support/review-dependencies.ts";
import { reviewInput } from "../../../support/review-input.ts";
import { type ScriptedTurn, scriptedModel } from "../../../support/scripted.ts";
import { pullText } from "../context/first-message.ts";

const fill = Array.from({ length: 40 }, (_, at) => `export const fill${at} = ${at};`);
const cart = (sum: string, length: string, above: string[] = []) =>
  [
    ...above,
    ...["export function total(prices: number[]) {", "  let sum = 0;"],
    `  for (const price of prices) ${sum};`,
    ...["  return sum;", "}", ...fill],
    ...["export function count(prices: number[]) {", `  return ${length};`, "}", ""],
  ].join("\n");

/** The line of `total` that is wrong, and that of `count`. */
export const TOTAL = { line: 3, quote: "  for (const price of prices) sum -= price;" };
export const COUNT = { line: 47, quote: "  return prices.length - 1;" };

/** A rule matches it, so that there is something to find without a model. */
export const NAN = { path: "nan.js", line: 1, quote: "export const isNan = (x) => x === NaN;" };

const other = "export const one = 1;\n";
const heads: Record<string, Record<string, string>> = {
  first: { "cart.ts": cart("sum -= price", "prices.length - 1"), "nan.js": `${NAN.quote}\n` },
  /** Another file has something new. */
  elsewhere: { "other.ts": "export const one = 2;\n" },
  fixed: { "cart.ts": cart("sum += 1 * price", "prices.length - 1"), "other.ts": other },
  /** The same, and something new right behind it. */
  beside: {
    "cart.ts": cart("sum -= price", "prices.length - 1").replace("return sum;", "return sum + 0;"),
  },
  moved: {
    "cart.ts": cart(
      "sum -= price",
      "prices.length - 1",
      fill.map((text) => text.replace("l", "L")),
    ),
  },
  /** What was wrong stands in a file of its own. */
  apart: {
    "cart.ts": `declare function total(prices: number[]): number;\n${fill.join("\n")}\n`,
    "total.ts": cart("sum -= price", "prices.length"),
  },
  left: { "cart.ts": cart("sum += price", "prices.length"), "other.ts": "export const one = 2;\n" },
};
export type Head = "first" | "elsewhere" | "fixed" | "beside" | "moved" | "apart" | "left";

type Opened = Awaited<ReturnType<typeof openRepository>>;

/** A repository, and its branches as a review sees them. */
export interface Rounds {
  open(head: Head): Promise<Opened>;
  dispose(): Promise<void>;
}

/** A branch for each state that a change goes through, one after the other. */
export function createRounds(): Rounds {
  const repo = GitRepo.create();
  repo.commit("base", { "cart.ts": cart("sum += price", "prices.length"), "other.ts": other });
  for (const [name, files] of Object.entries(heads)) repo.branch(name).commit(name, files);
  const opened = new Map<Head, Promise<Opened>>();
  return {
    open(head) {
      const one = opened.get(head) ?? openRepository(repo, { head });
      opened.set(head, one);
      return one;
    },
    async dispose() {
      for (const one of opened.values()) await (await one)[Symbol.asyncDispose]();
      repo.dispose();
    },
  };
}

export type Loop = "review" | "merge" | "verify" | "compare" | "recheck";
const outlets: [Loop, string][] = [
  ["merge", "join_findings"],
  ["compare", "same_problems"],
  ["recheck", "report_resolution"],
];
const texts: [Loop, string][] = [
  ["merge", "Several reviewers"],
  ["compare", "A pull request was reviewed before"],
  ["recheck", "A review posted a comment"],
];

/** What a request is for, by its tools, or by its instructions where the protocol has none. */
function loopOf({ tools, messages }: ModelRequest): Loop {
  if (isSecondLook({ messages })) return "verify";
  const byTool = outlets.find(([, tool]) => tools.some(({ name }) => name === tool));
  const byText = texts.find(([, start]) => messages[0]?.content.startsWith(start));
  return (byTool ?? byText)?.[0] ?? "review";
}

const call = (name: string, args: object): ScriptedTurn => ({
  toolCalls: [{ name, arguments: { ...args } }],
});
export const reports = (...findings: object[]): ScriptedTurn => ({
  toolCalls: [
    ...findings.map((one) => ({ name: "report_finding", arguments: { ...one } })),
    { name: "finish_review", arguments: { summary: "Sums and counts." } },
  ],
});
export const finding = (over: object = {}) => ({
  ...{ path: "cart.ts", side: "RIGHT", ...TOTAL, severity: "medium", category: "correctness" },
  ...{ title: "The total subtracts each price instead of adding it", body: "It is negative." },
  ...{ confidence: 0.9, ...over },
});
export const resolves = (state: string, reason = "cart.ts:3 adds now.") =>
  call("report_resolution", { state, reason });
export const names = (...pairs: object[]) => call("same_problems", { pairs });
export const confirms = (severity = "medium") =>
  call("report_verdict", { verdict: "confirmed", failing_input: "[1]", reason: "It is so.", severity });

const usual: Record<Loop, ScriptedTurn> = {
  review: reports(),
  merge: reports(),
  verify: confirms(),
  compare: names(),
  recheck: resolves("present"),
};

const adapters: Record<Protocol, (model: Model) => Model> = {
  native: (model) => model,
  text: withTextProtocol,
};

/** A verdict that names no claim is one on every claim. */
function aboutAll(turn: ScriptedTurn | Error, { messages }: ModelRequest): ScriptedTurn | Error {
  if (turn instanceof Error || !turn.toolCalls) return turn;
  const toolCalls = turn.toolCalls.flatMap((one) =>
    one.name === "report_verdict" && typeof one.arguments === "object"
      ? onEveryClaim(messages, one.arguments)
      : [one],
  );
  return { ...turn, toolCalls };
}

export type Script = Partial<Record<Loop, (request: ModelRequest) => ScriptedTurn | Error>>;

export interface RoundOptions {
  head: Head;
  /** What was reviewed before; null is nothing. */
  reviewed?: History["reviewed"];
  carried?: History["carried"];
  earlier?: PostedFinding[];
  script?: Script;
  effort?: Effort;
  protocol?: Protocol;
  offline?: boolean;
  /** Of the repository. */
  config?: Record<string, unknown>;
  /** The model answers no rule match by itself; else it rejects all that it does not report. */
  leavesCandidates?: boolean;
  analyzers?: readonly Analyzer[];
  signal?: AbortSignal;
  limits?: Partial<ReviewInput["limits"]>;
  /** Where it notes down what it does; nowhere without. */
  trajectory?: Trajectory;
  /** What an earlier run of the same review noted down. */
  replay?: readonly LoopEntry[];
}

/** One review of the change as it is on that branch, and what each loop was asked. */
export async function round(rounds: Rounds, options: RoundOptions) {
  const { head, reviewed = null, carried = [], earlier = [], script = {}, protocol = "native" } = options;
  const { trajectory = { append: async () => {} }, replay = [] } = options;
  const { workspace } = await rounds.open(head);
  const scripted = scriptedModel((request) => {
    const loop = loopOf(request);
    const turn = aboutAll((script[loop] ?? (() => usual[loop]))(request), request);
    return turn instanceof Error || options.leavesCandidates ? turn : rejectingOthers(turn, request);
  });
  const model = adapters[protocol](scripted);
  const input = reviewInput({
    config: { effort: options.effort ?? "medium", ...options.config },
    pull: pullText({ earlier }),
    history: { key: "", reviewed, carried, summary: "Sums." },
  });
  const result = await reviewChange(
    { ...input, limits: { ...input.limits, ...options.limits } },
    reviewDependencies(workspace, options.offline ? null : { review: model, verify: model }, {
      trajectory,
      replay,
      ...(options.analyzers && { analyzers: options.analyzers }),
      ...(options.signal && { signal: options.signal }),
    }),
  );
  const asked = (loop: Loop) => scripted.requests.filter((request) => loopOf(request) === loop);
  return { result, asked, ledger: result.ledger!, requests: scripted.requests };
}

/** The comment on the wrong line of `total`. */
export const comment = (over: Partial<PostedFinding> = {}): PostedFinding =>
  postedFinding({
    path: "cart.ts",
    line: TOTAL.line,
    original_line: TOTAL.line,
    severity: "medium",
    symbol: "total",
    code: codeHash(TOTAL.quote),
    text: "It is negative.",
    ...over,
  });

export const textOf = ({ messages }: ModelRequest) => messages.map(({ content }) => content).join("\n");
