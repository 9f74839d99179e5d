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
  it("A rule that the configuration does not name is on", () => {
    expect(isOff("effort: low\n", "secrets/github-token")).toBe(false);
    expect(isOff("rules:\n  secrets/aws-secret-access-key: off\n", "secrets/github-token")).toBe(false);
  });

  it("A rule is switched off by its name, its short name or its analyzer", () => {
    expect(isOff("rules:\n  ast-grep/py-eval: off\n", "ast-grep/py-eval")).toBe(true);
    expect(isOff("rules:\n  py-eval: off\n", "ast-grep/py-eval")).toBe(true);
    expect(isOff("rules:\n  focused-tests: off\n", "focused-tests/javascript-skip")).toBe(true);
  });

  it("A rule is switched off only in files that match its patterns", () => {
    const yaml = 'rules:\n  secrets/github-token:\n    off: ["test/fixtures/**", "!test/fixtures/real.py"]\n';
    expect(isOff(yaml, "secrets/github-token", "test/fixtures/keys.py")).toBe(true);
    expect(isOff(yaml, "secrets/github-token", "test/fixtures/real.py")).toBe(false);
    expect(isOff(yaml, "secrets/github-token", "src/keys.py")).toBe(false);
  });

  it("A value that is neither off nor patterns is refused", () => {
    expect(parseRepoConfig("rules:\n  py-eval: maybe\n")).toMatchObject({
      ok: false,
      problems: [{ line: 2 }],
    });
  });
});
