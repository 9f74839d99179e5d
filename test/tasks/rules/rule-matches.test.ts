import { describe, expect, it } from "vitest";
import { parseRepoConfig } from "../../../src/config/parse-config.ts";
import { createRuleSwitch } from "../../../src/tasks/rules/rule-matches.ts";
import { sampleFinding } from "../../report/sample-result.ts";

const isOff = (yaml: string, source: string, path = "src/a.py") => {
  const parsed = parseRepoConfig(yaml);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return createRuleSwitch(parsed.config)(sampleFinding({ source, path }));
};

describe("a rule of the analyzers", () => {
  it("is on where the configuration says nothing of it", () => {
    expect(isOff("effort: low\n", "secrets/github-token")).toBe(false);
    expect(isOff("rules:\n  secrets/aws-secret-access-key: off\n", "secrets/github-token")).toBe(false);
  });

  it("is switched off by its name, by its name without the analyzer, or with its whole analyzer", () => {
    expect(isOff("rules:\n  ast-grep/py-eval: off\n", "ast-grep/py-eval")).toBe(true);
    expect(isOff("rules:\n  py-eval: off\n", "ast-grep/py-eval")).toBe(true);
    expect(isOff("rules:\n  focused-tests: off\n", "focused-tests/javascript-skip")).toBe(true);
  });

  it("is switched off only in files that match its patterns", () => {
    const yaml = 'rules:\n  secrets/github-token:\n    off: ["test/fixtures/**", "!test/fixtures/real.py"]\n';
    expect(isOff(yaml, "secrets/github-token", "test/fixtures/keys.py")).toBe(true);
    expect(isOff(yaml, "secrets/github-token", "test/fixtures/real.py")).toBe(false);
    expect(isOff(yaml, "secrets/github-token", "src/keys.py")).toBe(false);
  });

  it("is refused as a value that is neither off nor patterns", () => {
    expect(parseRepoConfig("rules:\n  py-eval: maybe\n")).toMatchObject({
      ok: false,
      problems: [{ line: 2 }],
    });
  });
});
