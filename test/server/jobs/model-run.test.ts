import { describe, expect, it } from "vitest";
import { forAllRoles, ModelUnavailable } from "../../../src/agent/llm/model.ts";
import { AppError } from "../../../src/core/errors.ts";
import { modelOutage, watchModels } from "../../../src/server/jobs/model-run.ts";
import { scriptedModel } from "../../support/scripted.ts";

const passing = new AppError("model_rate_limited", "organization org-1 is limited", {
  retryable: true,
  retryAfterMs: 9,
});
const lasting = new AppError("model_unauthorized", "key refused");
describe("watched models", () => {
  const request = { messages: [], tools: [], maxOutputTokens: 1 };
  const { signal } = new AbortController();

  it("Watched models report a fault although another loop was answered after it", async () => {
    const models = { ...forAllRoles(scriptedModel([{ content: "ok" }])), verify: scriptedModel([passing]) };
    const watched = watchModels(models);

    await expect(watched.models.verify.respond(request, signal)).rejects.toBe(passing);
    await watched.models.review.respond(request, signal);
    expect(watched.lastFault()).toBe(passing);
  });

  it("Watched models report the fault that decides: a spent budget, else one that passes, else the last", async () => {
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
  const again = () => true;
  const never = () => false;

  it("A model that failed a review has the job tried again if the fault may pass, when the provider says, in words of ours", () => {
    const outage = modelOutage(passing, again);
    expect(outage).toMatchObject({ code: "model_rate_limited", retryable: true, retryAfterMs: 9 });
    expect(outage?.message).not.toContain("org-1");
  });

  it("A model that failed a review asks the queue about the very error that the job would end with", () => {
    const asked: AppError[] = [];
    const alone = new ModelUnavailable("big is left alone", 15_000);
    modelOutage(alone, (error) => asked.push(error) > 0);
    expect(asked).toMatchObject([{ code: "model_unavailable", retryable: true, retryAfterMs: 15_000 }]);
  });

  it("A model that failed a review has what was found published if the job is not tried again, or the fault will not pass", () => {
    expect(modelOutage(passing, never)).toBeUndefined();
    expect(modelOutage(lasting, again)).toBeUndefined();
    expect(modelOutage(new AppError("budget_spent", "used up"), again)).toBeUndefined();
  });

  it("A model that failed a review is none if no request failed", () => {
    expect(modelOutage(undefined, again)).toBeUndefined();
  });
});
