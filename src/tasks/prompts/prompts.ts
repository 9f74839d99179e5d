import { readFileSync } from "node:fs";
import { join } from "node:path";

const read = (name: string) => readFileSync(join(import.meta.dirname, name), "utf8");

/** The severity scale and the rule on untrusted text are the same in every prompt that has them. */
const shared: Readonly<Record<string, string>> = {
  "{{severity}}": read("severity.md").trim(),
  "{{untrusted}}": read("untrusted.md").trim(),
};

const prompt = (name: string) => read(name).replaceAll(/\{\{\w+\}\}/g, (mark) => shared[mark] ?? mark);

/** For the reviewer. The same in every review, so that the provider can cache it. */
export const systemPrompt = prompt("system.md");

/** For the verifier, who checks the findings of another loop and the sentences of their texts. */
export const verifyPrompt = prompt("verify.md");

/** For the choice of the findings that become comments. */
export const choosePrompt = prompt("choose.md");

/** For the loop that merges findings. */
export const mergePrompt = prompt("merge.md");

/** For the question which findings repeat an earlier comment. */
export const comparePrompt = prompt("compare.md");

/** For the question which examples break a rule. */
export const examplesPrompt = prompt("examples.md");

/** For the check whether an earlier finding is fixed. */
export const recheckPrompt = prompt("recheck.md");

/** For answering a person's question. */
export const answerPrompt = prompt("answer.md");

/** For describing a change. */
export const describePrompt = prompt("describe.md");

/** For repairing findings. */
export const fixPrompt = prompt("fix.md");

/** For writing a test that proves a finding. */
export const provePrompt = prompt("prove.md");

/** For the question what a change asks for. */
export const intentPrompt = prompt("intent.md");
