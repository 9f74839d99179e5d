import { callsIn, type TextCall } from "./calls-in-text.ts";
import { jsonIn, withoutThinking } from "./json-in-text.ts";
import { isObject, type LenientOptions, readLenientObject } from "./lenient-json.ts";
import type { Model, ModelRequest, ModelTurn, ToolCall, ToolDefinition } from "./model.ts";
import { plainConversation } from "./plain-conversation.ts";
import { shortSchema, textRule, textTurn, writtenCalls } from "./text-protocol.ts";

/** The tools whose calls an answer stands for. */
export interface SingleShotTools {
  /** Reports one finding. */
  report: string;
  /** Ends a review; takes `summary`. */
  finish: string;
  /** Ends the check of one finding. */
  verdict: string;
}

/** How one kind of request is put to the model, and its answer read. */
interface Form {
  rule: string;
  write(calls: readonly ToolCall[]): string;
  /** The calls that a JSON value of the answer stands for; null where it is something else. */
  read(value: unknown): TextCall[] | null;
}

/**
 * A model that is told of no tools but answers about what it is shown with one JSON object, for context windows that have no
 * room for exploring. Its answer becomes calls of the reporting tools; what these refuse comes back as text with the next
 * request. Where neither findings nor a verdict are asked for, tools are spoken of as in the text protocol.
 */
export function withSingleShot(model: Model, names: SingleShotTools): Model {
  return {
    name: model.name,
    contextTokens: model.contextTokens,
    protocol: "single-shot",
    async respond(request, signal) {
      if (request.tools.length === 0) return model.respond(request, signal);
      const form = formFor(request.tools, names);
      return withCalls(await model.respond(asOneQuestion(request, form), signal), request, form);
    },
  };
}

function formFor(tools: readonly ToolDefinition[], names: SingleShotTools): Form {
  const report = tools.find(({ name }) => name === names.report);
  if (report && tools.some(({ name }) => name === names.finish)) return findingsForm(report, names);
  const verdict = tools.find(({ name }) => name === names.verdict);
  if (verdict) return verdictForm(verdict);
  return { rule: textRule(tools), write: writtenCalls, read: () => null };
}

const NO_TOOLS =
  "Whatever was said of tools before: there are none here, and no further file can be read. Judge by what you are shown. ";

function findingsForm(
  { description, parameters }: ToolDefinition,
  { report, finish }: SingleShotTools,
): Form {
  return {
    rule: [
      "# Your answer",
      `${NO_TOOLS}Answer with one JSON object and nothing else: {"findings": [...], "rejected": [{"candidate": "...", "reason": "..."}], "summary": "..."}. ` +
        "`findings` is empty if you found nothing; `rejected` names each rule match that is no fault, with the reason; `summary` says in a few sentences what the change does and how it stands. " +
        "When a finding is refused, answer again with that finding alone, corrected; when more is shown, with what is new.",
      `A finding: ${description} Its JSON Schema: ${shortSchema(parameters)}`,
    ].join("\n\n"),
    write(calls) {
      if (calls.some(({ name }) => name !== report && name !== finish)) return writtenCalls(calls);
      const findings = calls.filter(({ name }) => name === report).map(argumentsOf);
      const end = calls.find(({ name }) => name === finish);
      const { summary, rejected } = (end && readLenientObject(end.arguments)) ?? {};
      return JSON.stringify({ findings, rejected, summary });
    },
    read(value) {
      if (!isObject(value) || !Array.isArray(value.findings)) return null;
      const { findings, rejected, summary } = value;
      const said =
        typeof summary === "string" && summary.trim() !== "" ? summary : "The model gave no summary.";
      return [
        ...findings.map((finding) => ({ name: report, arguments: JSON.stringify(finding) })),
        { name: finish, arguments: JSON.stringify({ summary: said, rejected }) },
      ];
    },
  };
}

function verdictForm({ name, description, parameters }: ToolDefinition): Form {
  return {
    rule: [
      "# Your answer",
      `${NO_TOOLS}Answer with one JSON object and nothing else: {"verdict": "...", ...}.`,
      `${description} JSON Schema of the answer: ${shortSchema(parameters)}`,
    ].join("\n\n"),
    write: (calls) => calls.map((call) => JSON.stringify(argumentsOf(call))).join("\n"),
    read: (value) =>
      isObject(value) && "verdict" in value ? [{ name, arguments: JSON.stringify(value) }] : null,
  };
}

const argumentsOf = ({ arguments: json }: ToolCall): unknown => readLenientObject(json) ?? json;

function asOneQuestion(request: ModelRequest, { rule, write }: Form): ModelRequest {
  const messages = plainConversation(request.messages, {
    rule,
    write: ({ content, toolCalls }) =>
      [content, toolCalls.length > 0 ? write(toolCalls) : ""].filter((part) => part !== "").join("\n\n"),
    heading: ({ name }, number) => `To ${number} of your answer (${name})`,
  });
  return { ...request, messages, tools: [] };
}

function withCalls(turn: ModelTurn, { messages, tools }: ModelRequest, { read }: Form): ModelTurn {
  const text = withoutThinking(turn.content);
  const options: LenientOptions = { isCut: turn.finishReason === "length" };
  const { values, prose } = jsonIn(text, options);
  // Models think in drafts: the last answer is the one that counts.
  const answer = values.map(read).findLast((calls) => calls !== null);
  if (answer) return textTurn(turn, messages, answer, prose);
  const found = callsIn(text, new Set(tools.map(({ name }) => name)), options);
  return textTurn(turn, messages, found.calls, found.prose);
}
