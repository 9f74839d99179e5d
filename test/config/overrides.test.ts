import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Overrides, withOverrides } from "../../src/config/overrides.ts";
import { defaultRepoConfig, EffectiveConfig, minimumSeverityAt } from "../../src/config/repo-config.ts";
import { severities } from "../../src/core/finding.ts";

const config: EffectiveConfig = {
  ...defaultRepoConfig,
  ...{ effort: "low", minimum_severity: "medium" },
  paths: { ignore: ["a"], private: ["b"] },
  budget: { ...defaultRepoConfig.budget, cost_usd: 0.1 },
  severity_by_path: [{ folder: "lib", minimum_severity: "low" }],
};

describe("withOverrides", () => {
  it("An override changes nothing where nothing is asked for", () => {
    expect(withOverrides(config, {})).toEqual(config);
    expect(withOverrides(config, { only: [], guidance: " \n" })).toEqual(config);
  });

  it("An override goes before the repository's files and those of its folders", () => {
    const asked = withOverrides(config, { effort: "high", minimumSeverity: "critical", maxCostUsd: 2 });
    expect(asked).toMatchObject({ effort: "high", budget: { cost_usd: 2, tokens: config.budget.tokens } });
    expect([minimumSeverityAt(asked, "lib/a.ts"), minimumSeverityAt(asked, "a.ts")]).toEqual([
      "critical",
      "critical",
    ]);
  });

  it("An override selects files besides the configured patterns", () => {
    expect(withOverrides(config, { only: ["./api/**", "!./api/x", "*.sql"] }).paths).toEqual({
      ignore: ["a"],
      private: ["b"],
      only: ["/api/**", "!/api/x", "*.sql"],
    });
  });

  it("An override switches proofs on or off, with the commands that the configuration names", () => {
    const prove = { ...config.prove, prepare: "npm ci" };
    expect(withOverrides({ ...config, prove }, { prove: true }).prove).toEqual({ ...prove, enabled: true });
    const enabled = { ...config, prove: { ...prove, enabled: true } };
    expect(withOverrides(enabled, { prove: false }).prove.enabled).toBe(false);
    const policy = (key: "prove" | "prove.enabled") => ({
      ...{ ...config, prove },
      policy: { enforce: [key], month: { tokens: null, cost_usd: null } },
    });
    for (const key of ["prove", "prove.enabled"] as const)
      expect(withOverrides(policy(key), { prove: true }).prove.enabled).toBe(false);
  });

  it("An override gives a configuration that a review accepts, whatever it is", () => {
    const some = fc.record(
      {
        effort: fc.constantFrom("low" as const, "medium" as const, "high" as const),
        minimumSeverity: fc.constantFrom(...severities),
        maxCostUsd: fc.double({ min: 0.01, max: 1_000, noNaN: true }),
        only: fc.array(fc.string({ minLength: 1 })),
        guidance: fc.string({ maxLength: 100 }),
        prove: fc.boolean(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(some, (overrides) => {
        const asked = withOverrides(config, Overrides.parse(overrides));
        expect(EffectiveConfig.parse(asked)).toEqual(asked);
      }),
    );
  });
});
