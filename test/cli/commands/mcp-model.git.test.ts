import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { withAgreeingSceptic } from "../../support/agreeing-sceptic.ts";
import { type FakeAnswer, type FakeOpenAi, startFakeOpenAi } from "../../support/fake-openai.ts";
import type { GitRepo } from "../../support/git-repo.ts";
import { TempFolder } from "../../support/git-repo.ts";
import { below, stillRunning } from "../../support/processes.ts";
import { type Connected, connect } from "../mcp-client.ts";
import { faultyRepo } from "../sample-repo.ts";

const report = {
  tool_calls: [
    {
      name: "report_finding",
      arguments: {
        ...{ path: "cart.py", side: "RIGHT", line: 1, quote: "def total(items, seen=[]):", severity: "high" },
        ...{ category: "correctness", title: "The list is shared by all calls", confidence: 0.9 },
        body: "The second call starts with what the first one left.",
      },
    },
  ],
};
const finish = { tool_calls: [{ name: "finish_review", arguments: { summary: "Counts what was seen." } }] };
const hang: FakeAnswer = { fault: "hang" };

let repo: GitRepo;
let tmp: TempFolder;
let data: TempFolder;
let fake: FakeOpenAi;
let server: Connected;
/** What the model answers next. */
let answers: FakeAnswer[] = [];

beforeAll(async () => {
  tmp = new TempFolder("mcp-model");
  data = new TempFolder("mcp-data");
  repo = faultyRepo();
  fake = await startFakeOpenAi(withAgreeingSceptic(() => answers.shift() ?? hang));
});
beforeEach(async () => {
  server ??= await start();
});
afterEach(() => {
  fake.requests.length = 0;
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await fake.close();
  repo.dispose();
  tmp.dispose();
  data.dispose();
});

const start = () =>
  connect({
    ...{ repo: repo.dir, tmp: tmp.path },
    env: {
      ...{ OPENAI_BASE_URL: fake.url, OPENAI_API_KEY: "test-key", HUNKWISE_MODEL: "fake-model" },
      ...{ HUNKWISE_PROTOCOL: "native", HUNKWISE_DATA_DIR: data.path },
    },
  });

const review = (signal?: AbortSignal) =>
  server.client.callTool({ name: "review", arguments: {} }, signal ? { signal } : {});
const asked = () => vi.waitFor(() => expect(fake.requests).not.toEqual([]), { timeout: 120_000 });
const ended = (names: readonly string[]) =>
  vi.waitFor(() => expect(stillRunning(names)).toEqual([]), { timeout: 120_000 });

const long = process.env.HUNKWISE_LONG === "1";

describe("A review with a model over MCP", () => {
  it("A review answers with findings and usage, and leaves a record", async () => {
    answers = [report, finish];
    const answer = await review();
    expect(answer.structuredContent).toMatchObject({
      mode: "model",
      summary: "Counts what was seen.",
      stop_reason: "finished",
      findings: [{ title: "The list is shared by all calls", line: 1, verification: "confirmed" }],
      usage: { requests: 3 },
    });
    expect(JSON.stringify(answer)).not.toContain("test-key");
    expect(readdirSync(join(data.path, "runs"))).toHaveLength(1);
  });

  it("A canceled review ends its requests to the model, and nothing goes on", async () => {
    const before = below(server.pid);
    const controller = new AbortController();
    const running = review(controller.signal);
    await asked();
    const children = below(server.pid).filter((one) => !before.includes(one));
    expect(children).not.toEqual([]);
    expect(await review()).toMatchObject({
      isError: true,
      content: [{ text: "error: a review is running already; wait for its answer" }],
    });
    controller.abort();
    await expect(running).rejects.toThrow();
    answers = [report, finish];
    // Asked at once, it waits for the one before it to end.
    expect(await review()).toMatchObject({ structuredContent: { stop_reason: "finished" } });
    await vi.waitFor(() => expect(fake.requests[0]?.hungUp).toBe(true), { timeout: 120_000 });
    await ended(children);
  });

  it("A review says once why the model failed, and what the analyzers found without it", async () => {
    answers = [{ fault: "status", status: 401 }];
    const answer = await review();
    expect(answer.isError).toBeFalsy();
    expect(answer.structuredContent).toMatchObject({
      stop_reason: "model_error",
      outcome: "partial",
      findings: [{ path: "cart.py", line: 1, verification: "not_judged" }],
      warnings: [
        expect.stringMatching(/^The model failed: .* refused the API key \(401\)\. Set OPENAI_API_KEY /),
      ],
    });
    const [text] = answer.content as { text: string }[];
    expect(text?.text).toMatch(
      /^hunkwise-\S+ · Offline: no model read this change because the model\scould not\sbe reached/,
    );
    expect(text?.text.match(/The model failed/g)).toHaveLength(1);
    expect(JSON.stringify(answer)).not.toContain("test-key");
  });

  it.runIf(long)("A review is stopped by a signal, and leaves nothing behind", async () => {
    answers = [];
    const running = review();
    const refused = expect(running).rejects.toThrow();
    await asked();
    const all = below(server.pid);
    process.kill(server.pid, "SIGTERM");
    await refused;
    await ended(all);
    expect(server.stderr()).toBe("hunkwise: stopped\n");
    expect(readdirSync(tmp.path)).toEqual([]);
  });
});
