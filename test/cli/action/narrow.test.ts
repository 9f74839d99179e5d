import { describe, expect, it } from "vitest";
import { narrowed } from "../../../src/cli/action/event.ts";
import { readActionEnv } from "../../../src/config/action-env.ts";
import { RepoConfig } from "../../../src/config/repo-config.ts";
import { stepEnv } from "./step-env.ts";

const within = (config: object, inputs: Record<string, string> = {}) =>
  narrowed(RepoConfig.parse(config), readActionEnv(stepEnv(inputs)).inputs);

describe("The base branch's configuration in the Action", () => {
  it("The base lowers budgets and never raises them", () => {
    const lax = { budget: { tokens: 900_000_000, cost_usd: 1_000 } };
    expect(within(lax, { INPUT_MAX_COST: "2" }).budget).toMatchObject({ tokens: 2_000_000, cost_usd: 2 });
    const strict = { budget: { tokens: 5_000, cost_usd: 0.1 } };
    expect(within(strict, { INPUT_MAX_COST: "2" }).budget).toMatchObject({ tokens: 5_000, cost_usd: 0.1 });
    expect(within({}, { INPUT_MAX_TOKENS: "9000" }).budget.tokens).toBe(9_000);
  });

  it("The base makes the check stricter and never laxer", () => {
    const failOn = { INPUT_FAIL_ON: "high" };
    expect(within({ check: { threshold: "never" } }, failOn).check).toMatchObject({
      threshold: "high",
      fail: true,
    });
    expect(within({ check: { threshold: "critical" } }, failOn).check.threshold).toBe("high");
    expect(within({ check: { threshold: "low" } }, failOn).check.threshold).toBe("low");
    expect(within({ check: { threshold: "low", fail: true } }).check).toMatchObject({
      threshold: "low",
      fail: true,
    });
  });

  it("The base yields to the inputs for effort and severity, and adds their instructions", () => {
    const config = { effort: "high", minimum_severity: "critical", instructions: [{ path: "a", text: "x" }] };
    const inputs = {
      INPUT_EFFORT: "low",
      INPUT_MINIMUM_SEVERITY: "medium",
      INPUT_INSTRUCTIONS: "Look at money.",
    };
    expect(within(config, inputs)).toMatchObject({
      ...{ effort: "low", minimum_severity: "medium" },
      ...{ instructions: [{ path: "a", text: "x" }], guidance: "Look at money." },
    });
    expect(within(config, { INPUT_PATHS: "src/**\n./api" }).paths.only).toEqual(["src/**", "/api"]);
    expect(within(config)).toMatchObject(config);
  });
});
