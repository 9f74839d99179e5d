import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readLenient } from "../../src/agent/llm/lenient-json.ts";
import { withoutThinking } from "../../src/agent/llm/model.ts";
import { readAnswer } from "../../src/agent/llm/openai.ts";
import { callsIn, scan } from "../../src/agent/llm/text-fallback.ts";
import {
  answeringTools,
  comparingTools,
  judgingTools,
  mergingTools,
  readingTools,
  settlingTools,
} from "../../src/agent/tools/index.ts";
import { parseArguments } from "../../src/agent/tools/run-tool.ts";
import { type AnyTool, ToolError } from "../../src/agent/tools/tool.ts";
import { AppError } from "../../src/core/errors.ts";
import { FUZZ_TIMEOUT_MS, fuzz, textOf } from "../support/fuzz.ts";

const tools = [
  readingTools,
  judgingTools,
  answeringTools,
  settlingTools,
  comparingTools,
  mergingTools,
].flat();
const names = new Set(tools.map(({ name }) => name));

const writtenJson = textOf([
  ...["{", "}", "[", "]", '"', "'", ":", ",", "\\", '\\"', "\\u0041", "\\ud800", "\\u", "\n", " ", "\t", "/"],
  ...["true", "True", "None", "null", "NaN", "Infinity", "-", "0", "1e999", "-0.5", "00", "9".repeat(400)],
  ...["```", "```json\n", "\n```", "<think>", "</think>", "<THINKING>", "</reasoning>", "Here it is: "],
  ...['{"calls": [', '"name":', '"arguments":', '"tool_calls"', '"function"', '"findings"', "{calls:"],
  ...[
    '"diff_file"',
    '{"name": "diff_file", "arguments": {}}',
    '<tool_call>{"name": "diff_file", "arguments": {"file_path": "a.ts"}}</tool_call>',
    '{"calls": [{"name": "reply", "arguments": "{}"}]}',
    '"file_path"',
    '"a.ts"',
    '"__proto__":',
    '"constructor":',
    "[[[[",
    "{a:{a:{a:",
    "é",
    "\u2028",
  ],
]);

const anyValue = fc.oneof(fc.jsonValue({ maxDepth: 6 }), fc.anything({ maxDepth: 3 }), writtenJson);

/** Arguments with a tool's own keys, so that some get beyond the first look at them. */
const called = fc.constantFrom<AnyTool>(...tools).chain((tool) => {
  const keys = Object.keys((tool.example ?? {}) as object);
  const given = fc.dictionary(fc.constantFrom(...keys, "__proto__", "extra"), anyValue, { maxKeys: 6 });
  return fc.record({ tool: fc.constant(tool), sent: fc.oneof(given, given.map(asJson), anyValue) });
});

/** Not everything has a form in JSON. */
function asJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
}

describe("the repair of arguments", () => {
  it(
    "The repair of arguments reads any text in time proportional to its length",
    () => {
      fuzz({
        values: writtenJson,
        share: 0.4,
        sizeOf: (text) => text.length,
        run: (text) => readLenient(text),
        reaches: (value) => typeof value === "object" && value !== null && Object.keys(value).length > 0,
        check(value, text) {
          // Valid JSON is read as it is; only what is JSON within JSON is read twice.
          const strict = parsed(text);
          if (strict !== undefined && typeof strict !== "string") expect(value).toEqual(strict);
        },
      });
    },
    FUZZ_TIMEOUT_MS,
  );

  it(
    "The repair of arguments searches any model answer in time proportional to its length",
    () => {
      fuzz({
        values: writtenJson,
        share: 0.3,
        sizeOf: (text) => text.length,
        mayThrow: (error) => error instanceof AppError && error.code === "model_failed",
        run: (text) => {
          const { calls } = callsIn(withoutThinking(text), names, { isCut: false });
          const message = { content: text, tool_calls: [{ function: { name: "reply", arguments: text } }] };
          readAnswer({ choices: [{ message }] }, new Set(), 0, (one) => one);
          return { calls, found: scan(text, {}) };
        },
        reaches: ({ calls }) => calls.length > 0,
        check({ calls }) {
          for (const call of calls) expect(typeof call.arguments).toBe("string");
        },
      });
    },
    FUZZ_TIMEOUT_MS,
  );

  it(
    "A tool accepts its arguments or explains in words what is wrong with them",
    () => {
      fuzz({
        values: called,
        share: 0.3,
        sizeOf: ({ sent }) => asJson(sent).length,
        mayThrow: (error) => error instanceof ToolError,
        run: ({ tool, sent }) => parseArguments(tool, sent),
        reaches: (input) => Object.keys(input as object).length > 1,
        check(input) {
          expect(typeof input).toBe("object");
          expect(({} as Record<string, unknown>).extra).toBeUndefined();
        },
      });
    },
    FUZZ_TIMEOUT_MS,
  );
});

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
