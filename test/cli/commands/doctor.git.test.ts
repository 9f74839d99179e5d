import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openKnownModels } from "../../../src/agent/llm/probe.ts";
import { checkModel } from "../../../src/cli/commands/doctor.ts";
import { keyOf } from "../../../src/cli/create-model.ts";
import { readEnv } from "../../../src/config/env.ts";
import { type FakeScript, startFakeOpenAi } from "../../support/fake-openai.ts";
import { TempFolder } from "../../support/git-repo.ts";

const root = new TempFolder("check-models");
afterAll(() => root.dispose());
const never = new AbortController().signal;
const calls = [2, 20].map((a) => ({ name: "add_numbers", arguments: { a, b: 3 } }));
const asJson = { content: JSON.stringify({ calls }) };

async function check(
  script: FakeScript,
  variables: Record<string, string> = {},
  folder = "none",
  models?: string[],
) {
  await using endpoint = await startFakeOpenAi({ script, ...(models && { models }) });
  const raw = {
    OPENAI_BASE_URL: endpoint.url,
    OPENAI_API_KEY: "test-key",
    HUNKWISE_MODEL: "big",
    ...variables,
  };
  const env = readEnv({ ...raw, HUNKWISE_DATA_DIR: join(root.path, folder) });
  const model = env.model!;
  return { diagnosis: await checkModel({ ...env, model }, never), model, dataDir: env.dataDir };
}

describe("The doctor's check of models", () => {
  it("Doctor names what was found and what will be used", async () => {
    const { diagnosis } = await check([{ content: "5" }, asJson]);
    expect(diagnosis).toMatchObject({ state: "ok", remedy: null });
    expect(diagnosis.says).toMatch(
      /tokens assumed, writes calls as JSON, but does not call tools; protocol text$/,
    );
  });

  it("Doctor tries the tools of a review, and says if their schemas had to be plain", async () => {
    const refusal = {
      fault: "status",
      status: 400,
      body: { error: { message: "list of types in tools[2].function.parameters" } },
    } as const;
    const { diagnosis } = await check(({ tools }) =>
      tools?.some(({ function: { name } }) => name === "report_finding") &&
      JSON.stringify(tools).includes('"null"]')
        ? refusal
        : { tool_calls: calls },
    );
    expect(diagnosis).toMatchObject({
      state: "ok",
      says: expect.stringContaining("calls tools, described by plain schemas, several at a time"),
    });
  });

  it("Doctor fails if the configured protocol cannot work, and names one that can", async () => {
    const { diagnosis } = await check([{ content: "5" }, asJson], { HUNKWISE_PROTOCOL: "native" });
    expect(diagnosis).toMatchObject({ state: "fail", remedy: "Set HUNKWISE_PROTOCOL to auto or to text." });
  });

  it("Doctor checks the model of each role once, and fails with the one that fails", async () => {
    const both = { HUNKWISE_VERIFY_MODEL: "small", HUNKWISE_CONTEXT_TOKENS: "32000" };
    const { diagnosis } = await check([{ tool_calls: calls }, { tool_calls: calls }], both);
    expect(diagnosis.says).toMatch(
      /^big answers .* 32,000 tokens as configured.* native; verification: small answers .* native$/,
    );
    const one = await check(
      (body) => (body.model === "big" ? { tool_calls: calls } : { content: "5" }),
      both,
    );
    expect(one.diagnosis).toMatchObject({ state: "fail", remedy: expect.stringMatching(/^Choose a model/) });
  });

  it("Doctor checks the fallback as well, and names its variable", async () => {
    const spare = { HUNKWISE_FALLBACK_MODEL: "spare" };
    const { diagnosis } = await check([{ tool_calls: calls }, { content: "5" }, asJson], spare);
    expect(diagnosis.state).toBe("ok");
    expect(diagnosis.says).toMatch(/^big .* native; fallback: spare answers .* protocol text$/);

    const absent = { fault: "status", status: 404, body: { error: { message: "no such model" } } } as const;
    const { diagnosis: bad } = await check([{ tool_calls: calls }, absent], spare);
    expect(bad).toMatchObject({
      state: "fail",
      remedy: "Set HUNKWISE_FALLBACK_MODEL to a model of this endpoint: fake-model.",
    });
    expect(bad.says).toMatch(/; fallback: .* has no model "spare"/);
  });

  it("Doctor asks the endpoint that verifies with its own key, and names its variables", async () => {
    await using other = await startFakeOpenAi({ script: [{ tool_calls: calls }], apiKey: "verify-key" });
    const ask = (key: string) =>
      check([{ tool_calls: calls }], {
        HUNKWISE_VERIFY_MODEL: "big",
        HUNKWISE_VERIFY_BASE_URL: other.url,
        HUNKWISE_VERIFY_API_KEY: key,
      });
    const { diagnosis } = await ask("verify-key");
    expect(diagnosis).toMatchObject({ state: "ok", remedy: null });
    expect(diagnosis.says).toMatch(/^big answers .* native; verification: big answers .* native$/);
    expect((await ask("wrong")).diagnosis).toMatchObject({
      state: "fail",
      says: expect.stringMatching(/; verification: .* refused the API key \(401\)$/),
      remedy:
        "Check HUNKWISE_VERIFY_MODEL, HUNKWISE_VERIFY_BASE_URL and HUNKWISE_VERIFY_API_KEY, or unset them.",
    });
  });

  it("Doctor lists models of the endpoint for an unknown name, the nearest first", async () => {
    const absent = { fault: "status", status: 404, body: { error: { message: "no such model" } } } as const;
    const many = Array.from({ length: 20 }, (_, n) => `another-model-${n}`);
    const { diagnosis } = await check([absent], { HUNKWISE_MODEL: "gtp-x" }, "none", [...many, "gpt-x"]);
    expect(diagnosis.state).toBe("fail");
    expect(diagnosis.remedy).toMatch(
      /^Set HUNKWISE_MODEL to a model of this endpoint: gpt-x, (another-model-\d+, ){6}another-model-\d+ and 13 more\.$/,
    );
    const verify = { HUNKWISE_VERIFY_MODEL: "small" };
    const roles = await check((body) => (body.model === "big" ? { tool_calls: calls } : absent), verify);
    expect(roles.diagnosis.remedy).toBe("Set HUNKWISE_VERIFY_MODEL to a model of this endpoint: fake-model.");
  });

  it("Doctor does not offer a model that is listed and refused", async () => {
    const absent = { fault: "status", status: 404, body: { error: { message: "no such model" } } } as const;
    const offered = async (models: string[]) =>
      (await check([absent], { HUNKWISE_MODEL: "gpt-x" }, "none", models)).diagnosis.remedy;
    expect(await offered(["gpt-x", "gpt-y"])).toBe("Set HUNKWISE_MODEL to a model of this endpoint: gpt-y.");
    expect(await offered(["gpt-x"])).toBe(
      "Set HUNKWISE_MODEL to another model; this endpoint lists no others.",
    );
  });

  it("Doctor stores the result for reviews if there is a data folder, and creates none", async () => {
    expect(existsSync((await check([{ tool_calls: calls }])).dataDir)).toBe(false);
    mkdirSync(join(root.path, "there"));
    const { dataDir, model } = await check([{ tool_calls: calls }], {}, "there");
    expect(await openKnownModels(dataDir).recall(keyOf(model))).toMatchObject({ callsTools: true });
  });
});
