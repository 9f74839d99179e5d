import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ReviewJson } from "../../src/report/json.ts";
import { soundRepo } from "../cli/sample-repo.ts";
import { type GitRepo, TempFolder } from "../support/git-repo.ts";
import {
  callingTemplate,
  type LlamaSettings,
  plainTemplate,
  startLlama,
  whyNoLlama,
} from "../support/llama-server.ts";
import { runCli } from "../support/run-cli.ts";

let repo: GitRepo;
let folder: TempFolder;
beforeAll(() => {
  repo = soundRepo();
  folder = new TempFolder("real-server");
});
afterAll(() => {
  repo.dispose();
  folder.dispose();
});

type Env = Record<string, string>;
/** The model's own window is below the 16,000 tokens that a review needs unless the protocol is set. */
const small = { HUNKWISE_PROTOCOL: "native", HUNKWISE_CONTEXT_TOKENS: "8192" };
let servers = 0;

async function withLlama(
  settings: LlamaSettings,
  use: (ask: (args: readonly string[], env?: Env) => ReturnType<typeof runCli>, url: string) => Promise<void>,
) {
  await using server = await startLlama(settings);
  const HUNKWISE_DATA_DIR = join(folder.path, String(servers++));
  const at = { OPENAI_BASE_URL: `${server.url}/v1`, HUNKWISE_MODEL: "smollm2", HUNKWISE_DATA_DIR };
  await use((args, env = {}) => runCli(args, { env: { ...at, ...env } }), server.url);
}

const review = () => [
  ...["review", "--repo", repo.dir, "--base", "main", "--effort", "low", "--format", "json"],
];

/** A model of this size makes nothing of a change, and the review has to say so. */
function expectHonest({ code, stdout, stderr }: Awaited<ReturnType<typeof runCli>>) {
  const result = ReviewJson.parse(JSON.parse(stdout));
  expect({ code, outcome: result.outcome, findings: result.findings }, stderr).toEqual({
    ...{ code: 3, outcome: "partial", findings: [] },
  });
  expect(result.summary).toMatch(/^The review was not finished/);
  return result;
}

const flat = (text: string) => text.replaceAll(/\s+/g, " ");

/** Calls in text, which no model of this size writes unasked. */
const textCalls = String.raw`root ::= "{\"calls\": [" (add ", " add | other) "]}"
add ::= "{\"name\": \"add_numbers\", \"arguments\": {\"a\": " number ", \"b\": " number "}}"
other ::= "{\"name\": \"" ("changed_files" | "finish_review") "\", \"arguments\": {}}"
number ::= [1-9] [0-9]?`;

const typed =
  "{{- tool.function.name }}{%- for name, p in tool.function.parameters.properties | items %}{{- ' ' + name + ': ' + p.type.upper() }}{%- endfor %}";

describe.skipIf(whyNoLlama !== null)(
  whyNoLlama === null
    ? "llama.cpp's server with a real model"
    : `llama.cpp's server with a real model: NOT TRIED, ${whyNoLlama}`,
  () => {
    it("The real server calls tools, and its window is its own and too small", () =>
      withLlama({ template: callingTemplate() }, async (ask) => {
        const doctor = await ask(["doctor"]);
        expect(doctor.stdout).toMatch(/^fail {2}model .*context window of 8,192 tokens, but a review needs/m);
        const { stdout } = await ask(["doctor"], small);
        expect(flat(stdout)).toMatch(
          /ok model smollm2 answers in .*8,192 tokens as configured, calls tools, several at a time; protocol native/,
        );
      }));

    it("A review by either API of the real server is partial and says so", () =>
      withLlama({ template: callingTemplate() }, async (ask, url) => {
        const chat = expectHonest(await ask(review(), small));
        expect(chat.stop_reason).not.toBe("model_error");
        expect(chat.usage.requests).toBeGreaterThan(1);
        // Its own count, with its cache.
        expect(chat.usage.cached_tokens).toBeGreaterThan(chat.usage.prompt_tokens / 3);
        const claude = expectHonest(
          await ask(review(), {
            ...{ ...small, OPENAI_BASE_URL: "", ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "none-needed" },
          }),
        );
        expect(claude.stop_reason).not.toBe("model_error");
        expect(claude.usage.requests).toBeGreaterThan(1);
      }));

    it("The real server is not asked again for what its template cannot read, but for less", () =>
      withLlama(
        // As templates do that write the type of each argument: a list of types has no such function.
        { template: callingTemplate(typed) },
        async (ask) => {
          const { stdout } = await ask(["doctor"], small);
          expect(flat(stdout)).toContain("calls tools, described by plain schemas, several at a time");
          const result = expectHonest(await ask(review(), small));
          expect(result.stop_reason).not.toBe("model_error");
          expect(result.usage.requests).toBeGreaterThan(1);
        },
      ));

    it("The real server says that a conversation does not fit into its window", () =>
      withLlama({ template: plainTemplate.replace("[:800]", ""), contextTokens: 1_024 }, async (ask) => {
        const run = await ask(review(), small);
        expectHonest(run);
        expect(run.stderr).toMatch(/too long for the model .*exceeds the available context size/);
      }));

    it("The real server is asked for calls in text if its template shows no tools", () =>
      withLlama({ template: plainTemplate, grammar: textCalls }, async (ask) => {
        const { stdout } = await ask(["doctor"], { HUNKWISE_CONTEXT_TOKENS: "16000" });
        expect(flat(stdout)).toMatch(
          /ok model .*writes calls as JSON, but does not call tools; protocol text/,
        );
        const result = expectHonest(await ask(review(), { ...small, HUNKWISE_PROTOCOL: "text" }));
        expect(result.stop_reason).not.toBe("model_error");
      }));
  },
);
