import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { errorInside, kindOf, refusalOf, roomLeft } from "../../../src/agent/llm/refusal.ts";

const refused = (status: number, body: unknown) =>
  refusalOf(status, typeof body === "string" ? body : JSON.stringify(body));
const saying = (status: number, message: string, more: object = {}) =>
  refused(status, { error: { message, ...more } });

/** "400 message" */
const told = (text: string) => saying(Number(text.slice(0, 3)), text.slice(4));

describe("the words of a refusal", () => {
  it.each<[string, unknown, string]>([
    ["OpenAI", { error: { message: "Unknown model", type: "x", code: "y" } }, "Unknown model"],
    ["Mistral and vLLM", { object: "error", message: "Unexpected role", type: "z" }, "Unexpected role"],
    ["Gemini, in a list", [{ error: { code: 400, message: "Cannot find field." } }], "Cannot find field."],
    ["Anthropic", { type: "error", error: { type: "api_error", message: "Overloaded" } }, "Overloaded"],
    ["xAI, as a text", { code: "permission-denied", error: "Content violates" }, "Content violates"],
    ["FastAPI, as a text", { detail: "Not Found" }, "Not Found"],
    [
      "FastAPI, as a list of faults, without the request that it repeats",
      {
        detail: [{ loc: ["body", "tools", 0], msg: "Extra inputs are not permitted", input: { secret: 1 } }],
      },
      "body.tools.0: Extra inputs are not permitted",
    ],
    [
      "OpenRouter, with those of the provider behind it",
      {
        error: {
          message: "Provider returned error",
          metadata: { raw: '{"error":{"message":"strict is not allowed"}}', provider_name: "P" },
        },
      },
      "Provider returned error: P: strict is not allowed",
    ],
    ["a gateway, as JSON in a text", { error: { message: '{"detail":"no GPU"}' } }, "no GPU"],
    ["plain text", "upstream is gone", "upstream is gone"],
    ["a web page, which is none", "<!DOCTYPE html><p>schema, quota, content policy</p>", ""],
    ["nothing", "", ""],
  ])("The words of a refusal are read from the body of %s", (_, body, message) => {
    expect(refused(400, body).message).toBe(message);
  });

  it("The words of a refusal are found in any body, however deep, and never a crash", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (body) => {
        expect(typeof refused(400, body).message).toBe("string");
        errorInside(body);
      }),
    );
    const deep = Array.from({ length: 60 }).reduce<unknown>((inner) => ({ error: inner }), "deep");
    expect(refused(400, deep).message).toBe("");
  });
});

describe("kindOf", () => {
  it.each([
    "402 Insufficient credits",
    "429 You exceeded your current quota, please check your plan and billing details.",
    "400 Billing hard limit has been reached",
    "400 Your credit balance is too low to access the Anthropic API.",
    "400 You have reached your specified API usage limits. You will regain access on 2027-01-01.",
    "400 Budget has been exceeded! Current cost: 1.5, Max budget: 1.0",
    "429 ExceededBudget: User=a over budget. Spend=2, Budget=1",
    "403 Key limit exceeded (total limit). Manage it using https://openrouter.ai/settings/keys",
    "429 Your team has either used all available credits or reached its monthly spending limit.",
    "429 Rate limit reached for model x on tokens per day (TPD): Limit 100000, Used 99000, Requested 2000.",
    "429 Rate limit exceeded: free-models-per-day. Add 10 credits to unlock more",
    "412 Account suspended, possibly due to reaching the monthly spending limit",
    "403 用户额度不足",
    "403 Sorry, your account balance is insufficient",
    "429 Your prepayment credits are depleted.",
    "429 Rate limit of 50 per 86400s exceeded for UserByModelByDay. Please wait 30000 seconds",
    "429 Crossed TPM / RPM / Budget: Max budget exceeded",
    "401 You exceeded your current quota",
    "403 Your team doesn't have any credits yet.",
  ])("The subject of a refusal is the account's quota (%s)", (text) => {
    expect(kindOf(told(text))).toBe("quota");
  });

  it.each([
    "Rate limit reached for gpt-5 in organization o on tokens per min (TPM): Limit 30000, Used 29000.",
    "Rate limit exceeded: free-models-per-min.",
    "Requests to the API have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 59 seconds.",
    "Resource exhausted. Please try again later.",
    "API usage limit: too many requests, retry after 3 s",
    "You exceeded your current requests list quota (limit_burst_rate)",
    "Too many concurrent requests; see your daily usage",
    "Resource has been exhausted (e.g. check quota).",
  ])("The subject of a refusal is the rate, for which a later try may do (%s)", (message) => {
    expect(kindOf(saying(429, message))).toBe("rate");
  });

  it("The subject of a refusal is told apart by Gemini's details", () => {
    const message = "You exceeded your current quota, please check your plan and billing details.";
    const of = (quotaId: string) => saying(429, message, { details: [{ violations: [{ quotaId }] }] });
    expect(kindOf(of("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"))).toBe("rate");
    expect(kindOf(of("GenerateRequestsPerDayPerProjectPerModel-FreeTier"))).toBe("quota");
  });

  it.each<[number, object]>([
    [400, { message: "The response was filtered.", code: "content_filter" }],
    [400, { message: "x", innererror: { code: "ResponsibleAIPolicyViolation" } }],
    [400, { message: "It was rejected as a result of our safety system.", code: "content_policy_violation" }],
    [400, { message: "Invalid prompt: your prompt was flagged", code: "invalid_prompt" }],
    [400, { message: "Output blocked by content filtering policy" }],
    [400, { message: "litellm.ContentPolicyViolationError: AzureException - x" }],
    [403, { message: "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO" }],
    [400, { message: "Input data may contain inappropriate content.", code: "data_inspection_failed" }],
    [400, { message: "The prompt was blocked: PROHIBITED_CONTENT" }],
    [403, { message: "model requires moderation. Your input was flagged for violence" }],
    [400, { message: "Content Exists Risk" }],
  ])("The subject of a refusal is the content (%i %o)", (status, error) => {
    expect(kindOf(refused(status, { error }))).toBe("content");
  });

  it.each([
    "400 This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    "400 Your input exceeds the context window of this model.",
    "400 prompt is too long: 210000 tokens > 200000 maximum",
    "400 input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
    "400 request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
    "500 the request exceeds the available context size. try increasing the context size",
    "400 Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
    "422 Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3500 `inputs` tokens and 1000 `max_new_tokens`",
    "400 Input is too long for requested model.",
    "400 The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).",
    "400 Prompt contains 74361 tokens, too large for model with 32768 maximum context length",
    "400 litellm.ContextWindowExceededError: litellm.BadRequestError: x",
    "400 The input (30000 tokens) is longer than the model's context length (20000 tokens).",
    "400 This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
    "400 Range of input length should be [1, 30720]",
    "400 the input length exceeds the context length",
    "400 Please reduce the length of the messages or completion.",
    "400 Current length is 9000 while limit is 8192",
    "413 Request Entity Too Large",
  ])("The subject of a refusal is its length (%s)", (text) => {
    expect(kindOf(told(text))).toBe("too_long");
  });

  const sizes = { answer: 4_000, prompt: 15_000 };
  it.each([
    "zu viel: 14800 plus 4000 sind 18800, erlaubt sind 16384",
    "size mismatch: got 15100, have 8192",
    "The sequence of 14000 with 4000 new ones does not fit into 16384",
    "prompt length (15100.0), query length (0) above max_num_tokens (8192)",
    "请求长度 18000 超过模型上限 16384",
  ])("The numbers of a refusal say that its subject is the length (%s)", (message) => {
    expect(kindOf(saying(400, message), sizes)).toBe("too_long");
    expect(kindOf(saying(400, message))).toBe("unexplained");
  });

  it.each([
    "max_tokens is too large: 4000. This model supports at most 2048 completion tokens, whereas you provided 4000.",
    "max_tokens: 4000 > 2048, which is the maximum allowed number of output tokens for m",
    "Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024",
    "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
    "Invalid schema for function 'look': array schema missing items",
    "Requests from 12 tools at line 15210 column 3",
    "The thinking budget (30000) exceeds the maximum of 24576",
    "expected text",
  ])("The subject of a refusal is not its length, its content or the account (%s)", (message) => {
    expect(kindOf(saying(400, message), sizes)).toBe("unexplained");
  });

  it.each([
    [401, "anything", "key"],
    [403, "no access", "access"],
    [404, "The model `x` does not exist", "absent"],
    [404, "no route", "unsupported"],
    [503, "overloaded", "passing"],
    [408, "time-out", "passing"],
  ])("The status %i is told apart by its words (%s)", (status, message, kind) => {
    expect(kindOf(saying(status, message))).toBe(kind);
  });

  it("The subject of a refusal is found in a long text without delay", () => {
    for (const unit of ["a ", "prompt a b ", "exceed ", "1 + 1 ", "tokens ", "\n", "blocked ", "violates "]) {
      const text = unit.repeat(1_000_000 / unit.length);
      expect(typeof kindOf(refused(400, text), sizes)).toBe("string");
    }
  });
});

describe("the room for an answer", () => {
  // The answer that was asked for, our estimate of the prompt, the server's limit and prompt, and its words.
  it.each([
    "4000 6000 8192 6000 This model's maximum context length is 8192 tokens. However, you requested 10000 tokens (6000 in the messages, 4000 in the completion).",
    "8192 9000 20000 15000 'max_tokens' is too large: 8192. This model's maximum context length is 20000 tokens and your request has 15000 input tokens (8192 > 20000 - 15000).",
    "8000 9000 20000 15000 This model's maximum context length is 20000 tokens. However, you requested 8000 output tokens and your prompt contains 15000 input tokens, for a total of 23000 tokens.",
    "16000 20000 32768 29000 This endpoint's maximum context length is 32,768 tokens. However, you requested about 45,000 tokens (29,000 of text input, 16,000 in the output).",
    "21333 150000 200000 188240 input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length",
    "1000 3000 4096 3500 `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3500 `inputs` tokens and 1000 `max_new_tokens`",
    "8000 12000 20000 16000 Requested token count exceeds the model's maximum context length of 20000 tokens. You requested a total of 24000 tokens: 16000 tokens from the input messages and 8000 tokens for the completion.",
    "4000 190000 200000 210000 prompt is too long: 210000 tokens > 200000 maximum",
    "4000 8000 8192 9000 request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
    "4000 60000 32768 74361 Prompt contains 74361 tokens, too large for model with 32768 maximum context length",
    "4000 28000 20000 30001 You passed 30001 input tokens and requested 4000 output tokens. However, the model's context length is only 20000 tokens, resulting in a maximum input length of 16000 tokens.",
  ])("The room for an answer is what the numbers leave (%s)", (text) => {
    const [answer = 0, prompt = 0, limit = 0, length = 0, ...words] = text
      .split(" ")
      .map((one, at) => (at < 4 ? Number(one) : one)) as number[];
    const margin = Math.max(16, Math.ceil(length / 200));
    expect(roomLeft(saying(400, words.join(" ")), { answer, prompt })?.tokens).toBe(limit - length - margin);
  });

  it.each(["This model's maximum context length is 8192 tokens.", "too long"])(
    "The room for an answer is unknown without them (%s)",
    (text) => {
      expect(roomLeft(saying(400, text), { answer: 4_000, prompt: 6_000 })).toBeNull();
    },
  );

  it("The room for an answer is not sure where the server stopped counting at its limit", () => {
    const message =
      "This model's maximum context length is 32768 tokens. However, you requested 16000 output tokens and your prompt contains at least 16769 input tokens, for a total of at least 32769 tokens.";
    expect(roomLeft(saying(400, message), { answer: 16_000, prompt: 20_000 })).toEqual({
      tokens: 32_768 - 20_000 - 100,
      isSure: false,
    });
  });
});

describe("an error in an answer with status 200", () => {
  it.each<[unknown, number, string]>([
    [{ error: { code: 429, message: "slow" }, choices: null }, 429, "slow"],
    [{ error: { code: "401", message: "key" }, choices: [] }, 401, "key"],
    [{ error: { status: 503 } }, 503, ""],
    [{ error: "the worker died", choices: [{ message: { content: "half" } }] }, 500, "the worker died"],
    [{ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }, 529, "Overloaded"],
    [{ type: "error", error: { type: "invalid_request_error", message: "no" } }, 400, "no"],
    [{ choices: [{ finish_reason: "error", error: { code: 502, message: "lost" } }] }, 502, "lost"],
    [
      { choices: [{ finish_reason: "error", message: { content: "half", tool_calls: [] } }] },
      500,
      "the provider failed in the middle of its answer",
    ],
  ])("An error in an answer with status 200 is read from %j", (raw, status, message) => {
    expect(errorInside(raw)).toMatchObject({ status, message });
  });

  it.each([
    { choices: [{ message: { content: "error" }, finish_reason: "stop" }], error: null },
    { choices: [], error: {} },
    { choices: [{ message: { content: "x" } }], error: { code: 0, message: "", type: null } },
    { content: [] },
    "text",
    null,
  ])("An error in an answer with status 200 is not seen in %j", (raw) => expect(errorInside(raw)).toBeNull());
});
