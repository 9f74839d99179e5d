import { z } from "zod";
import { count } from "../../core/text/count.ts";
import { defineTool, ToolError } from "./tool.ts";

/* The tools with which loops about one question hand over their answer. */

/** A few sentences and a little code; for more, people read the code. */
const MAX_TEXT = 6_000;

const Reply = z.strictObject({
  text: z
    .string()
    .trim()
    .min(1)
    .max(MAX_TEXT)
    .describe("The answer in Markdown: a few sentences, with the file and line of what you read."),
});

export const reply = defineTool<z.infer<typeof Reply>, { answered: true }>({
  name: "reply",
  title: "Answer the question",
  description: "Answers the question and ends the conversation. It is posted as you write it.",
  returns: "`{answered: true}`.",
  example: { text: "It retries three times: `send()` in src/client.ts:41 counts down from `retries`." },
  kind: "report",
  finishes: true,
  input: Reply,
  async execute({ text }, { converse }) {
    if (!converse) throw new ToolError("nobody has asked anything here");
    converse.reply(text);
    return { output: { answered: true }, endsLoop: true };
  },
  render: () => ({ text: "Answered." }),
});

const MAX_REASON = 2_000;
/** Maximum length of a reason that is shown to people. */
const MAX_SHOWN = 400;

const Resolution = z.strictObject({
  state: z
    .enum(["fixed", "present", "unsure"])
    .describe("fixed: the code that you read cannot go wrong in this way any more. present: it still does."),
  reason: z
    .string()
    .min(1)
    .max(MAX_REASON)
    .describe(
      "One plain sentence about the code as it is now, with file and line; for unsure, what remains open.",
    ),
});
type Resolution = z.infer<typeof Resolution>;

/** One line of limited length. */
function sentence(given: string): string {
  const line = given.replaceAll(/\s+/g, " ").trim();
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN - 1).toWellFormed()}…` : line;
}

export const reportResolution = defineTool<Resolution, { state: Resolution["state"] }>({
  name: "report_resolution",
  title: "Report whether an earlier finding is fixed",
  description:
    "Ends the check of an earlier finding whose code has changed. Answer fixed only if the code that you read shows it, and unsure if you cannot tell.",
  returns: "`state` as it was recorded.",
  example: { state: "fixed", reason: "src/retry.ts:42 now compares with <, so the first attempt counts." },
  kind: "report",
  finishes: true,
  input: Resolution,
  async execute({ state, reason }, { settle }) {
    if (!settle) throw new ToolError("there is no earlier finding to check here");
    settle.settle({ state, reason: sentence(reason) });
    return { output: { state }, endsLoop: true };
  },
  render: ({ state }) => ({ text: `Recorded: ${state}.` }),
});

const MAX_QUOTE = 1_000;

const IntentInput = z.strictObject({
  asks: z
    .enum(["now", "before", "silent"])
    .describe(
      "now: the change asks for what happens now on this input. before: it asks for the other behavior. silent: it asks for neither.",
    ),
  quote: z
    .string()
    .max(MAX_QUOTE)
    .default("")
    .describe(
      "The words that ask for it, copied exactly from what is shown. Needed unless the answer is silent.",
    ),
  fits: z
    .boolean()
    .describe(
      "True if the test shows what the claim says, and the described behavior is what the test asserts. False if it shows another difference.",
    ),
});
type IntentInput = z.infer<typeof IntentInput>;

export const reportIntent = defineTool<IntentInput, IntentInput>({
  name: "report_intent",
  title: "Report what a change asks for",
  description:
    "Answers whether a pull request intends what a test shows, and quotes the words that say so from its title, description, commits, tests, documentation or comments.",
  returns: "`asks`, `quote` and `fits` as they were recorded.",
  example: { asks: "now", quote: "Empty carts are rejected from now on.", fits: true },
  kind: "report",
  finishes: true,
  input: IntentInput,
  async execute(input, { intent }) {
    if (!intent) throw new ToolError("there is no such question here");
    const answer = intent.answer(input);
    if (!answer.ok) throw new ToolError(answer.reason);
    return { output: input, endsLoop: true };
  },
  render: ({ asks }) => ({ text: `Recorded: ${asks}.` }),
});

const MAX_PAIRS = 200;

const Pairs = z.strictObject({
  pairs: z
    .array(z.strictObject({ finding: z.string(), earlier: z.string() }))
    .max(MAX_PAIRS)
    .describe("The listed pairs that are one problem; empty if there are none."),
});

export const sameProblems = defineTool<z.infer<typeof Pairs>, { pairs: number }>({
  name: "same_problems",
  title: "Name findings that repeat earlier comments",
  description:
    "Ends the comparison of new findings with earlier comments. Names every listed pair that is the same problem, and no other.",
  returns: "`pairs`: how many were accepted, or an error that names a pair which was not listed.",
  example: { pairs: [{ finding: "3f2a9c0d1e4b", earlier: "2417" }] },
  kind: "report",
  finishes: true,
  input: Pairs,
  async execute({ pairs }, { compare }) {
    if (!compare) throw new ToolError("there is nothing to compare here");
    const answer = compare.same(pairs);
    if (!answer.ok) throw new ToolError(answer.reason);
    return { output: { pairs: pairs.length }, endsLoop: true };
  },
  render: ({ pairs }) => ({ text: `Recorded: ${count(pairs, "pair")}.` }),
});

const MAX_OTHERS = 50;

const Joined = z.strictObject({
  keep: z.string().describe("Id of the finding that describes it best."),
  others: z.array(z.string()).min(1).max(MAX_OTHERS).describe("Ids of findings with the same root cause."),
});

export const joinFindings = defineTool<z.infer<typeof Joined>, { keep: string; note: string }>({
  name: "join_findings",
  title: "Join findings with one cause",
  description:
    "Joins several findings with one root cause. Those on the same lines are dropped; those elsewhere become further places of the one that is kept.",
  returns: "`keep` and a `note` that says what became of the others, or an error that names an unknown id.",
  example: { keep: "3f2a9c0d1e4b", others: ["77ab01c2d3e4"] },
  kind: "report",
  input: Joined,
  async execute({ keep, others }, { join }) {
    if (!join) throw new ToolError("there are no findings to join");
    const answer = join.join(keep, others);
    if (!answer.ok) throw new ToolError(answer.reason);
    return { output: { keep, note: answer.note } };
  },
  render: ({ keep, note }) => ({ text: `${keep}: ${note}.` }),
});

const MAX_CHOSEN = 100;

const Choice = z.strictObject({
  comments: z
    .array(z.int().min(1))
    .max(MAX_CHOSEN)
    .describe("The numbers of the findings that become comments; empty if none should."),
});

export const chooseComments = defineTool<z.infer<typeof Choice>, { comments: number }>({
  name: "choose_comments",
  title: "Choose the findings that become comments",
  description: "Ends the choice. Names every finding that becomes a comment; the others are listed.",
  returns: "`comments`: how many were chosen, or an error that names an unknown number.",
  example: { comments: [2, 3] },
  kind: "report",
  finishes: true,
  input: Choice,
  async execute({ comments }, { choose }) {
    if (!choose) throw new ToolError("there is nothing to choose here");
    const answer = choose.choose(comments);
    if (!answer.ok) throw new ToolError(answer.reason);
    return { output: { comments: comments.length }, endsLoop: true };
  },
  render: ({ comments }) => ({ text: `Recorded: ${count(comments, "comment")}.` }),
});
