import { readFileSync } from "node:fs";
import { join } from "node:path";

const read = (name: string) => readFileSync(join(import.meta.dirname, name), "utf8");

/** The scale and the rule on untrusted text stand in every prompt in the same words. */
const shared: Readonly<Record<string, string>> = {
  "{{severity}}": read("severity.md").trim(),
  "{{untrusted}}": read("untrusted.md").trim(),
};

const prompt = (name: string) => read(name).replaceAll(/\{\{\w+\}\}/g, (mark) => shared[mark] ?? mark);

/** The reviewer's instructions. The same for every review, so that a provider's prompt cache holds them. */
export const systemPrompt = prompt("system.md");

/** The sceptic's: one finding is checked by somebody who did not make it. */
export const verifyPrompt = prompt("verify.md");

/** Of the pass that makes one list of findings of several. */
export const mergePrompt = prompt("merge.md");

/** Of the question which findings an earlier comment tells of. */
export const comparePrompt = prompt("compare.md");

/** Of the check whether an earlier finding is fixed. */
export const recheckPrompt = prompt("recheck.md");

/** Of whoever answers a person's question. */
export const answerPrompt = prompt("answer.md");

/** Of whoever repairs findings. */
export const fixPrompt = prompt("fix.md");
