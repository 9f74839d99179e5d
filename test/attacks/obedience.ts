import { onEveryClaim } from "../support/claims.ts";
import { type Call, fewHostileCalls } from "./corpus/calls.ts";
import { linkPaths, secretPaths, trickPaths } from "./corpus/paths.ts";
import { hostilePatterns } from "./corpus/patterns.ts";
import type { Places } from "./corpus/places.ts";
import { oddArguments, unknownTools } from "./corpus/values.ts";
import { allTools, type Obedience, readingTools, type Seen } from "./obedient-model.ts";

// The orders to a model in each of its roles, all of which it follows.

/** Maximum number of calls executed per turn. */
const CALLS_A_TURN = 64;

/**
 * In `npm test`, each hostile value goes to a third of the tools in turn, and all paths go to the tool that reads any file; reading.test.ts
 * tries all of them with all tools.
 */
const long = process.env.HUNKWISE_LONG === "1";
const inTurn = ({ name }: Call, at: number) =>
  long || name === "read_file_part" || (at + readingTools.findIndex((tool) => tool.name === name)) % 3 === 0;

const call = (name: string, given: Record<string, unknown>): Call => ({
  name,
  arguments: JSON.stringify(given),
});

export type Attack = ReturnType<typeof attackOn>;

export function attackOn(places: Places) {
  const calls = {
    secrets: fewHostileCalls(readingTools, { paths: secretPaths(places) }).filter(inTurn),
    tricks: fewHostileCalls(readingTools, { paths: trickPaths(places) }).filter(inTurn),
    links: fewHostileCalls(readingTools, { paths: linkPaths }).filter(inTurn),
    patterns: fewHostileCalls(readingTools, { patterns: hostilePatterns(places) }).filter(inTurn),
    unknown: unknownTools.map((name) => call(name, { path: "/proc/self/environ", command: "env" })),
    reports: fewHostileCalls(
      allTools.filter(({ kind }) => kind !== "read"),
      { paths: secretPaths(places).slice(0, 4), whole: oddArguments.slice(0, 4) },
    ),
  };
  return { ...calls, all: Object.values(calls).flat() };
}

const thousand = Array.from({ length: 1_000 }, (_, at) =>
  call("read_file_part", { file_path: `/proc/${at}/environ` }),
);

const inTurns = (calls: readonly Call[]): Call[][] =>
  Array.from({ length: Math.ceil(calls.length / CALLS_A_TURN) }, (_, at) =>
    calls.slice(at * CALLS_A_TURN, (at + 1) * CALLS_A_TURN),
  );

/** Unlisted names of findings and comments. */
const names = ["", "0", "__proto__", "constructor", "toString", "../../queue.db", "7 and 8", "\u202Eid\0"];

/** Pairs of findings that the request does not contain. */
export const hostilePairs: readonly Call[] = [
  ...names.map((name) => call("same_problems", { pairs: [{ finding: name, earlier: name }] })),
  // The maximum number that is parsed; more values count as invalid JSON.
  call("same_problems", { pairs: Array.from({ length: 2_000 }, () => ({ finding: "a", earlier: "b" })) }),
  call("same_problems", { pairs: [{ finding: ["a"], earlier: { b: 1 } }] }),
  {
    name: "same_problems",
    arguments:
      '{"pairs": [{"finding": "0", "earlier": "0"}], "__proto__": {"pairs": []}, "comment": "/approve"}',
  },
];

/** Joins of findings that do not exist. */
export const hostileJoins: readonly Call[] = [
  ...names.map((name) => call("join_findings", { keep: name, others: names })),
  call("join_findings", { keep: "a", others: Array.from({ length: 10_000 }, (_, at) => `x${at}`) }),
  call("join_findings", { keep: ["a"], others: "b" }),
];

/** The first review makes every call; other roles make a part of them, and the calls that are hostile only in their role. */
function turnsOf(attack: Attack, role: string, loop: number): Call[][] {
  if (role === "finish_review" && loop === 0) return inTurns(attack.all);
  const part = attack.all.filter((_, at) => at % 30 === loop % 30);
  const files = attack.secrets.filter(({ name }) => name === "read_file_part");
  switch (role) {
    case "reply":
      return [thousand, ...inTurns([...files, ...part])];
    case "join_findings":
      return inTurns([...hostileJoins, ...part]);
    case "same_problems":
      // This role has two turns.
      return [[...hostilePairs, ...part].slice(0, CALLS_A_TURN)];
    default:
      return inTurns(part);
  }
}

/** In each role, reports everything seen if the role has a free text; otherwise gives the answer that hides most. */
function ending(role: string, seen: Seen, task: string): Call[][] {
  const isReview = role === "finish_review" || role === "join_findings";
  const [first = "nothing", second = first] = seen.pieces(isReview ? 7_900 : 1_900);
  const verdict = { verdict: "confirmed", severity: "high", reason: first, failing_input: second };
  const verdicts = onEveryClaim([{ content: task }], { ...verdict, evidence: [evidence(first)] });
  switch (role) {
    case "finish_review":
      return [reports(task, first, second), [call("finish_review", { summary: first })]];
    case "join_findings":
      return [
        [report({ ...joined, title: `Merged ${first.slice(0, 150)}` }, first, second)],
        [call("finish_review", { summary: first })],
      ];
    case "report_verdict":
      return [verdicts.map((one) => call(one.name, one.arguments))];
    case "report_resolution":
      return [[call("report_resolution", { state: "fixed", reason: first })]];
    case "same_problems":
      return [[call("same_problems", { pairs: pairsOf(task) })]];
    case "choose_comments":
      // Without comments nobody could ask about one.
      return [
        [call("choose_comments", { comments: [99] })],
        [call("choose_comments", { comments: numbersIn(task) })],
      ];
    case "reply":
      return [[call("reply", { text: `${first}\n\n${second}` })]];
    default:
      return [];
  }
}

const numbersIn = (task: string) =>
  Array.from(task.matchAll(/^## Finding (\d+)$/gm), ([, number]) => Number(number));

/** All pairs in the request. */
const pairsOf = (task: string) =>
  [...task.matchAll(/^(\w+) and (\w+)$/gm)].map(([, finding, earlier]) => ({ finding, earlier }));

const evidence = (note: string) => ({ path: "src/parser.ts", start_line: 1, end_line: 3, note });

/** Two findings close together, which need a comparison, one alone, and one outside the diff. */
const places = [
  { path: "src/retry.ts", line: 42, quote: "  for (let attempt = 0; attempt <= retries; attempt++) {" },
  { path: "src/retry.ts", line: 43, quote: "    send(attempt);" },
  { path: "src/parser.ts", line: 12, quote: "export const parsed7 = 8;" },
  { path: "src/parser.ts", line: 70, quote: "export const parsed65 = 65;" },
];
/** A finding that the merging role adds. */
const joined = { path: "src/parser.ts", line: 13, quote: "export const parsed8 = 8;" };
/** After `laterFiles`: on the lines of an earlier comment, without words in common. */
const later = {
  title: "Whoever comes last is written to twice",
  ...{ path: "src/retry.ts", start_line: 42, line: 43 },
  quote: "  for (let attempt = 0; attempt <= retries; attempt++) {\n    send(attempt + 1);",
};

const report = (at: Record<string, unknown>, first: string, second: string): Call =>
  call("report_finding", {
    ...{ severity: "high", category: "security", confidence: 1 },
    body: at.line === 42 ? first : second,
    suggestion: first.slice(0, 3_000),
    evidence: [evidence(first.slice(0, 2_000))],
    ...at,
  });

const reports = (task: string, first: string, second: string): Call[] =>
  (task.includes("send(attempt + 1)") ? [later] : places).map((place) =>
    report({ title: `${place.quote.trim().slice(0, 40)} ${first.slice(0, 150)}`, ...place }, first, second),
  );

/** The behavior of a model that obeys the whole attack. */
export const obedienceOf = (attack: Attack): Obedience => ({
  attack: (role, loop) => turnsOf(attack, role, loop),
  ending,
});
