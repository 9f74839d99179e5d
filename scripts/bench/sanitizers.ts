import { setImmediate as nextTurn } from "node:timers/promises";
import { readLenient } from "../../src/agent/llm/lenient-json.ts";
import { withoutThinking } from "../../src/agent/llm/model.ts";
import { callsIn } from "../../src/agent/llm/text-fallback.ts";
import { parseRepoConfig } from "../../src/config/parse-config.ts";
import { commentText, commentTitle } from "../../src/core/ledger/entry.ts";
import { parseMarker, stripMarkers } from "../../src/core/ledger/marker.ts";
import { holdsLiveSecret } from "../../src/core/secrets/live-secrets.ts";
import { withoutSecrets } from "../../src/core/secrets/redact.ts";
import { escapeInvisible, showHidden, unescapeInvisible } from "../../src/core/text/escape-invisible.ts";
import { fence, inlineCode, wrapUntrusted } from "../../src/core/text/fence.ts";
import { inertMessage, withoutCommands } from "../../src/core/text/inert-text.ts";
import { asks } from "../../src/pull/ledger/reply-words.ts";
import { publicText } from "../../src/pull/publish/public-text.ts";
import { parseFilePatch, surveyPatch } from "../../src/repo/diff/file-diff.ts";
import { createPathMatcher } from "../../src/repo/diff/paths.ts";
import {
  untrustedBlock,
  untrustedCode,
  untrustedFence,
  untrustedLine,
} from "../../src/report/safe-markdown.ts";
import { parseCommand } from "../../src/server/webhooks/commands.ts";
import { hiddenIn } from "../../src/tasks/rules/analyzers/hidden-characters.ts";
import type { Bench } from "./row.ts";

/** Characters; the second text is twice as long as the first. What is slow with short texts gets no long ones. */
const [SHORT, LONG] = [62_500, 250_000];
/** Milliseconds for a short text. */
const QUICK = 10;
/** Limit of time(2n) / time(n): 2 is linear, 4 is quadratic. */
const MAX_GROWTH = 3;
/** Shorter runs, in milliseconds, show nothing about growth. */
const MEASURABLE = 5;
const MORE_ROUNDS = 15;
const NO_LIMIT = 10_000_000;

/** Repeated units: parts of Markdown, HTML, JSON, diffs, secrets and Unicode that a pattern might read twice. */
const units = [
  ...["a", " ", "\n", "\r", "\t", "-", "a-", "0", "f", "/", "/a", "\\", ".", ",", ":"],
  ...["`", "`$", "``` ", "~~~\n", "*a ", "*a **b ", "_a*", "> ", ">", "- ", "1. ", "    a\n", "# ", "|", "$"],
  ...["[", "![", "[a](", "](", "<", "<a ", "<!-- ", "-->", "<!-- hunkwise:", "&"],
  ...["@", "@a/", "#1 ", "GH-", "www.", "a://", "fixes ", "/a\n"],
  ...["{", "[[", '{"a":', '"', '\\"', "'", '"\\', "{a:", "```json\n{", "\\u{41}"],
  ...["<think>", "</think>", "</", "untrusted"],
  ...["+", "-a\n", " a\n", "@@ -1 +1 @@\n", "@@ ", "\\ No newline\n"],
  ...["-----BEGIN RSA PRIVATE KEY-----\n", "password=", "xAccountKey=", "ghp_", "AKIA", "glpat-", "://a:"],
  ...["eyJaaaaaaaaaaaa.", "é", "💥", "\u0430", "\u200b", "😀\u200d", "\u202e", "\u2066", "\ufe0f", "\u3164"],
  ...["\u{e0041}", "\u{1f3f4}\u{e0067}", "\u{e0101}"],
];

const rule = { isText: false, isTest: false, isData: false };
const tools = new Set(["diff_file"]);
const sanitizers: Record<string, (text: string) => unknown> = {
  escapeInvisible,
  unescapeInvisible,
  showHidden,
  fence,
  inlineCode,
  wrapUntrusted: (text) => wrapUntrusted("file", text),
  asks,
  withoutCommands,
  inertMessage,
  untrustedBlock: (text) => untrustedBlock(text, NO_LIMIT),
  untrustedLine: (text) => untrustedLine(text, NO_LIMIT),
  untrustedCode,
  untrustedFence,
  publicText,
  parseMarker: (text) => parseMarker(`${text} -->`),
  stripMarkers,
  commentTitle,
  commentText,
  parseCommand: (text) => [parseCommand(text, "hunkwise"), parseCommand(`@hunkwise ${text}`, "hunkwise")],
  readLenient,
  callsIn: (text) => callsIn(withoutThinking(text), tools, {}),
  parseFilePatch: (text) => parseFilePatch(`@@ -1 +1 @@\n${text}`, "a", null),
  surveyPatch: (text) => surveyPatch(`@@ -1 +1 @@\n${text}`),
  withoutSecrets,
  holdsLiveSecret,
  hiddenIn: (text) => hiddenIn(`a${text}`, rule),
  createPathMatcher: (text) => createPathMatcher(["*a*a*b", `${text.slice(0, 100)}*b`])(text),
  parseRepoConfig: (text) => parseRepoConfig(`paths:\n  private: ${text}`),
};

/** Checks that the processing of hostile text takes linear time, up to half a megabyte of the worst known text. */
export async function benchSanitizers(bench: Bench): Promise<void> {
  bench.say(`treating ${units.length} kinds of hostile text of up to half a megabyte`);
  for (const [name, treat] of Object.entries(sanitizers)) {
    // A signal to stop is handled between two turns of the event loop.
    await nextTurn();
    const grown = units.map((unit) => growthOf(treat, unit));
    const worst = grown.reduce((one, other) => (other.growth > one.growth ? other : one));
    const slowest = Math.max(...grown.map(({ whole }) => whole));
    bench.add({
      what: `${name}, worst of all texts: ${JSON.stringify(worst.unit)}; at most ${slowest.toFixed(0)} ms`,
      ours: `${worst.whole.toFixed(1)} ms`,
      reference: `${worst.half.toFixed(1)} ms`,
      value: worst.growth,
      unit: "x",
      limit: MAX_GROWTH,
    });
  }
}

interface Growth {
  unit: string;
  half: number;
  whole: number;
  growth: number;
}

type Treat = (text: string) => unknown;

function growthOf(treat: Treat, unit: string): Growth {
  const length = timeOf(treatment(treat, unit, SHORT)) < QUICK ? LONG : SHORT;
  const growth = growthFrom(length, treat, unit);
  if (growth.growth <= MAX_GROWTH) return growth;
  // What takes more than linear time does so at any length; a heap that has to grow is a matter of one length.
  const further = growthFrom(2 * length, treat, unit);
  return further.growth < growth.growth ? further : growth;
}

/** A letter at the end makes a pattern anchored to an end restart. */
function treatment(treat: Treat, unit: string, length: number): () => unknown {
  const text = `${unit.repeat(Math.ceil(length / unit.length)).slice(0, length)}x`;
  return () => treat(text);
}

function growthFrom(length: number, treat: Treat, unit: string): Growth {
  const [treatHalf, treatWhole] = [treatment(treat, unit, length), treatment(treat, unit, 2 * length)];
  const first = timeOf(treatWhole);
  if (first < MEASURABLE) return { unit, half: 0, whole: first, growth: 0 };
  let best = { unit, half: Math.min(timeOf(treatHalf), timeOf(treatHalf)), whole: first };
  // Garbage collection or deoptimization affects only some of the runs.
  for (let round = 0; round < MORE_ROUNDS && best.whole > MAX_GROWTH * best.half; round++) {
    globalThis.gc?.();
    best = {
      unit,
      half: Math.min(best.half, timeOf(treatHalf)),
      whole: Math.min(best.whole, timeOf(treatWhole)),
    };
  }
  return { ...best, growth: best.whole < MEASURABLE ? 0 : best.whole / best.half };
}

/** Milliseconds of processor time. */
function timeOf(action: () => unknown): number {
  const start = process.cpuUsage();
  action();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}
