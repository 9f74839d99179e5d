import { describe, expect, it } from "vitest";
import { AppError } from "../../src/errors.ts";
import { modelOutage, watchModels } from "../../src/jobs/watched-model.ts";
import { ModelUnavailable } from "../../src/llm/faults.ts";
import { forAllRoles } from "../../src/llm/model.ts";
import { scriptedModel } from "../../src/llm/scripted.ts";
import { sampleResult } from "../reporters/sample-result.ts";

const passing = new AppError("model_rate_limited", "organization org-1 is limited", {
  retryable: true,
  retryAfterMs: 9,
});
const lasting = new AppError("model_unauthorized", "key refused");
const failed = (requests: number) => {
  const result = sampleResult({ stop_reason: "model_error" });
  return { ...result, usage: { ...result.usage, requests } };
};

describe("watched models", () => {
  const request = { messages: [], tools: [], maxOutputTokens: 1 };
  const { signal } = new AbortController();

  it("tell a fault although another loop was answered after it: what failed is missing", async () => {
    const models = { ...forAllRoles(scriptedModel([{ content: "ok" }])), verify: scriptedModel([passing]) };
    const watched = watchModels(models);

    await expect(watched.models.verify.respond(request, signal)).rejects.toBe(passing);
    await watched.models.review.respond(request, signal);
    expect(watched.lastFault()).toBe(passing);
  });

  it("tell of several faults the one that decides: a spent budget, else one that passes, else the last", async () => {
    const spent = new AppError("budget_spent", "used up");
    const told = async (...faults: AppError[]) => {
      const watched = watchModels(forAllRoles(scriptedModel(faults)));
      for (const fault of faults)
        await expect(watched.models.review.respond(request, signal)).rejects.toBe(fault);
      return watched.lastFault();
    };
    const other = new AppError("model_refused", "too long");
    expect(await told(lasting, other)).toBe(other);
    expect(await told(passing, lasting)).toBe(passing);
    expect(await told(lasting, spent, passing)).toBe(spent);
    expect(await told()).toBeUndefined();
  });
});

describe("a model that failed a review", () => {
  it("has the job tried again where the fault may pass, when the provider says", () => {
    expect(modelOutage(failed(3), passing, false)).toMatchObject({ retryable: true, retryAfterMs: 9 });
  });

  it("has the job wait without an attempt, as its code says, while the model is left alone", () => {
    const alone = new ModelUnavailable("big is left alone", 15_000);
    const outage = { code: "model_unavailable", retryable: true, retryAfterMs: 15_000 };
    expect(modelOutage(failed(3), alone, false)).toMatchObject(outage);
    expect(modelOutage(failed(0), alone, true)).toMatchObject(outage);
  });

  it("has what was found published once no attempt is left, or the fault will not pass", () => {
    expect(modelOutage(failed(3), passing, true)).toBeUndefined();
    expect(modelOutage(failed(3), lasting, false)).toBeUndefined();
  });

  it("fails the review when it never answered, in words of ours", () => {
    const outage = modelOutage(failed(0), lasting, false);

    expect(outage).toMatchObject({ code: "model_unauthorized", retryable: false });
    expect(modelOutage(failed(0), passing, true)?.message).not.toContain("org-1");
  });

  it("was kept from going on by the day's budget: what was found is published, and nothing is no review", () => {
    const spent = new AppError("budget_spent", "today's budget of this pull request is used up");

    expect(modelOutage(failed(3), spent, false)).toBeUndefined();
    expect(modelOutage(failed(0), spent, false)).toBe(spent);
  });

  it("is tried again where the model was lost after the reading, for second looks are missing", () => {
    expect(modelOutage(sampleResult(), passing, false)).toMatchObject({ retryable: true });
    expect(modelOutage(sampleResult(), passing, true)).toBeUndefined();
  });

  it("is none where the last request was answered", () => {
    expect(modelOutage(sampleResult(), undefined, false)).toBeUndefined();
  });
});
