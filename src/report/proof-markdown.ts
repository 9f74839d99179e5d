import { stripVTControlCharacters } from "node:util";
import type { ProofRun } from "../core/finding.ts";
import {
  foldLine,
  markStart,
  passingTestPart,
  type ShownTest,
  testBlock,
  testIn,
  testPart,
} from "../core/ledger/folds.ts";
import { withoutSecrets } from "../core/secrets/redact.ts";
import { count } from "../core/text/count.ts";
import { byteLength, cutAtLine, cutCharacters } from "../core/text/cut.ts";
import { showHidden } from "../core/text/escape-invisible.ts";
import { inlineCode } from "../core/text/fence.ts";
import {
  markOf,
  markParts,
  type Proved,
  passingOf,
  phrase,
  type RanProof,
  revisionNames,
} from "./finding-words.ts";
import { languageOf, untrustedCode, untrustedFence, untrustedLine, whyNotPosted } from "./safe-markdown.ts";

/** Most bytes of what happens on one side, before it is made harmless. */
const mostPhraseBytes = 600;
/** Most bytes of one run's output. */
const mostOutput = 5_000;
/** Most characters of a path or command that stand for a test that is left out. */
const mostName = 160;

/** What a test shows about a finding, in one line; empty if none shows it. */
export function markLine(finding: Proved, maxBytes = mostPhraseBytes): string {
  const mark = markOf(finding);
  if (mark === null) return "";
  // With the full stop: one after "www" could make it a link.
  const parts = markParts(mark).map(
    ([name, what]) => `${name}: ${untrustedLine(`${what}.`, Math.min(mostPhraseBytes, maxBytes))}`,
  );
  return `${markStart(mark.kind)}${parts.join(" ")}`;
}

/**
 * The test of a finding in a fold of at most `maxBytes`, with its command and what each run printed; empty if there is no test that ran, or
 * no room at all. The test is shown exactly as it is, so that what people read is what a command commits, or it is left out with the reason.
 */
export function testFold(finding: Proved, maxBytes: number): string {
  const proof = markOf(finding) ?? passingOf(finding);
  if (proof === null) return "";
  const { test, command, runs } = proof;
  const shown = { ...test, command };
  const isPassing = proof.kind === "ran_right";
  const about = isPassing ? [passingWords(proof)] : [];
  const fold = (parts: readonly string[]) =>
    `${foldLine(isPassing ? passingTestPart : testPart)}\n\n${[...about, ...parts].join("\n\n")}\n\n</details>`;
  const room = (parts: readonly string[]) => maxBytes - byteLength(fold(parts)) - reserved * runs.length;
  const exact = testBlock(shown, languageOf(test.path));
  const why = whyNotShown(shown, exact) || (room([exact]) < 0 ? "it is too long to be shown here" : "");
  const block = why === "" ? exact : leftOut(shown, why);
  const left = room([block]);
  if (left < 0) return "";
  return fold([block, ...runs.map((run) => runBlock(run, left / runs.length))]);
}

function passingWords(proof: RanProof): string {
  const what = phrase(proof.now);
  const now = what === "" ? "" : `Now: ${untrustedLine(`${what}.`, mostPhraseBytes)} `;
  return `${now}This changes neither the severity of the finding nor the check.`;
}

/** Bytes of a run without its output, with its margins. */
const reserved = 100;

/** Why a test may not be shown as a text that a command commits, as a clause; empty if it may. */
function whyNotShown(shown: ShownTest, exact: string): string {
  const { path, text, command } = shown;
  const all = [path, text, command].join("\n");
  if (withoutSecrets(all) !== all) return "it contains what looks like a secret";
  const why = whyNotPosted(text, "");
  if (why !== "") return why;
  if (showHidden(all) !== all) return "it contains invisible characters";
  const names = [path, command];
  if (names.some((name) => untrustedCode(name) !== inlineCode(name)))
    return "its path or its command may not be shown";
  const read = testIn(`${foldLine(testPart)}\n\n${exact}`);
  const isSame = read?.path === path && read.text === text && read.command === command;
  return isSame ? "" : "it cannot be shown exactly as it is";
}

function leftOut({ path, command }: ShownTest, why: string): string {
  const [name, line] = [path, command].map((text) => untrustedCode(cutCharacters(text, mostName)));
  return `The test ${name} is left out: ${why}. It was run with ${line}.`;
}

function runBlock({ on, exit_code, output }: ProofRun, maxBytes: number): string {
  const line = `${revisionNames[on]}: exit code ${exit_code}`;
  // Without colors: a secret may have had some inside.
  const text = withoutSecrets(stripVTControlCharacters(output)).replaceAll("\r\n", "\n").trim();
  if (text === "") return `${line}, no output.`;
  const block = outputFence(text, Math.min(maxBytes, mostOutput));
  return block === "" ? `${line}. There is no room for its output.` : `${line}.\n\n${block}`;
}

function outputFence(text: string, maxBytes: number): string {
  for (let room = maxBytes; room > 100; room *= 0.7) {
    const { text: head, omittedLines } = cutAtLine(text, room);
    const note = omittedLines === 0 ? "" : `\n… (${count(omittedLines, "more line")})`;
    const block = untrustedFence(`${head}${note}`, "text");
    if (byteLength(block) <= maxBytes) return block;
  }
  return "";
}
