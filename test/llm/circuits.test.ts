import { describe, expect, it } from "vitest";
import { AppError } from "../../src/errors.ts";
import { openCircuits } from "../../src/llm/circuits.ts";
import { EndpointUnreachable } from "../../src/llm/faults.ts";
import { type ScriptedTurn, scriptedModel } from "../../src/llm/scripted.ts";

const never = new AbortController().signal;
const ask = { messages: [], tools: [], maxOutputTokens: 1 };
const overloaded = new AppError("model_failed", "503", { retryable: true });
const gone = new EndpointUnreachable("model_failed", "ECONNREFUSED", { retryable: true });

function setUp() {
  const warnings: string[] = [];
  const circuits = openCircuits({ now: () => 0, random: () => 1, warn: (text) => warnings.push(text) });
  const at = (url: string | null, name: string, ...turns: (ScriptedTurn | Error)[]) =>
    circuits.guard(scriptedModel([...turns, ...Array(9).fill({ content: "ok" })], { name }), url);
  return { at, warnings };
}

const codes = async (...models: ReturnType<ReturnType<typeof setUp>["at"]>[]) => {
  const ends: string[] = [];
  for (const model of models)
    ends.push(
      await model.respond(ask, never).then(
        () => "ok",
        (error: AppError) => error.code,
      ),
    );
  return ends;
};

describe("the circuits of a process", () => {
  it("leave one model alone that is overloaded, and go on with the others of its endpoint", async () => {
    const { at, warnings } = setUp();
    const big = at("https://host/v1", "big", overloaded, overloaded, overloaded);
    const small = at("https://host/v1", "small");
    expect(await codes(big, big, big, big, small)).toEqual([
      ...["model_failed", "model_failed", "model_unavailable", "model_unavailable"],
      "ok",
    ]);
    expect(warnings).toEqual([expect.stringMatching(/^The model "big" at host is paused for 15 s/)]);
  });

  it("leave an endpoint alone that is gone, whichever of its models found out, and go on with another", async () => {
    const { at, warnings } = setUp();
    const big = at("https://host/secret/v1", "big", gone, gone);
    const small = at("https://host/secret/v1", "small", gone);
    expect(await codes(big, small, big, small, big, at(null, "big"))).toEqual([
      ...["model_failed", "model_failed", "model_unavailable", "model_unavailable", "model_unavailable"],
      "ok",
    ]);
    expect(warnings).toEqual([expect.stringMatching(/^The endpoint at host is paused for 15 s/)]);
  });
});
