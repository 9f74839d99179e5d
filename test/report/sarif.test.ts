import { Ajv } from "ajv";
import formats from "ajv-formats";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Finding } from "../../src/core/finding.ts";
import { renderSarif, toSarif } from "../../src/report/sarif.ts";
import type { ReviewResult } from "../../src/tasks/shapes/review-result.ts";
import { liveIn } from "../support/markdown-oracle.ts";
import { sarifEssentials } from "../support/sarif-essentials.ts";
import { anyResult } from "./any-result.ts";
import {
  lookedAtAgain,
  sampleDropped,
  sampleFinding,
  samplePlace,
  sampleProof,
  sampleResult,
} from "./sample-result.ts";

interface Run {
  results: {
    level: string;
    message: { text: string; markdown: string };
    locations: { physicalLocation: { artifactLocation: { uri: string }; region?: unknown } }[];
    [name: string]: unknown;
  }[];
  invocations: {
    executionSuccessful: boolean;
    toolExecutionNotifications: { message: { text: string } }[];
  }[];
  tool: {
    driver: { rules: { id: string; name: string; help: { text: string; markdown: string } }[] };
  };
}

const runOf = (over: Partial<ReviewResult>) =>
  (toSarif(sampleResult(over), { version: "0.1.0" }) as { runs: Run[] }).runs[0]!;
const resultOf = (over: Partial<Finding>) =>
  runOf({ findings: [{ finding: sampleFinding(over), placement: { kind: "inline" } }] }).results[0]!;

const ajv = new Ajv({ allErrors: true });
formats.default(ajv);
const validate = ajv.compile(sarifEssentials);

describe("The SARIF report", () => {
  it("The SARIF report is valid SARIF 2.1.0 with findings of every kind", () => {
    const findings = [
      sampleFinding(),
      sampleFinding({ side: "LEFT", category: "security", source: "ast-grep/x", path: "a b/ü:c#.ts" }),
      sampleFinding({ suggestion: "", start_line: 3 }),
      sampleFinding({ suggestion: null }),
    ].map((finding) => ({ finding, placement: { kind: "inline" } as const }));
    expect(validate(toSarif(sampleResult({ findings, warnings: ["careful"] }), { version: "0.1.0" }))).toBe(
      true,
    );
    expect(validate(toSarif(sampleResult({ findings: [] }), { version: "0.1.0" }))).toBe(true);
    expect(validate(toSarif(sampleResult(lookedAtAgain()), { version: "0.1.0" }))).toBe(true);
  });

  it("The SARIF report maps severities to levels", () => {
    const level = (severity: Finding["severity"]) => resultOf({ severity }).level;
    expect([level("critical"), level("high"), level("medium"), level("low")]).toEqual([
      "error",
      "error",
      "warning",
      "note",
    ]);
  });

  it("The SARIF report has the finding's id as fingerprint and its lines as region", () => {
    const result = resultOf({ id: "abc", start_line: 4, line: 6 });
    expect(result.partialFingerprints).toEqual({ "hunkwise/v1": "abc" });
    expect(result.locations[0]?.physicalLocation.region).toEqual({ startLine: 4, endLine: 6 });
  });

  it("The SARIF report puts a removed line on the file, with a note on where it was", () => {
    const result = resultOf({ side: "LEFT", line: 12, suggestion: "x" });
    expect(result.locations[0]?.physicalLocation).not.toHaveProperty("region");
    expect(result.message.text).toContain("line 12 of the merge base");
    expect(result).not.toHaveProperty("fixes");
  });

  it("The SARIF report relates the other places, without their code", () => {
    const places = [samplePlace({ start_line: 10 }), samplePlace({ side: "LEFT", path: "a b.ts", line: 9 })];
    const result = resultOf({ places });
    const uriBaseId = "SRCROOT";
    expect(result.relatedLocations).toEqual([
      {
        physicalLocation: {
          artifactLocation: { uri: "src/order.ts", uriBaseId },
          region: { startLine: 10, endLine: 12 },
        },
        message: { text: "The same problem." },
      },
      {
        physicalLocation: { artifactLocation: { uri: "a%20b.ts", uriBaseId } },
        message: {
          text: "The same problem. This is about line 9 of the merge base, which the change removes.",
        },
      },
    ]);
    expect(JSON.stringify(result)).not.toContain("CODE OF A PLACE");
    expect(resultOf({})).not.toHaveProperty("relatedLocations");
  });

  it("The SARIF report says first what is in doubt, and has the note as a property", () => {
    const note = { verification_note: "who calls it" };
    expect(resultOf({ verification: "uncertain", ...note }).message.text).toMatch(
      /^The condition .*\n\nUncertain: a second look .* this\. who calls it\n\n`item/,
    );
    const confirmed = resultOf({ verification: "confirmed", ...note });
    expect(confirmed.properties).toMatchObject({ verificationNote: "who calls it" });
    expect(confirmed.message.text).not.toContain("who calls it");
    expect(JSON.stringify(resultOf({ source: "secrets/x", ...note }))).not.toContain("who calls it");
  });

  it("The SARIF report encodes paths as URI references", () => {
    const { artifactLocation } = resultOf({ path: "a b/ü:#%.ts" }).locations[0]!.physicalLocation;
    expect(artifactLocation.uri).toBe("a%20b/%C3%BC%3A%23%25.ts");
  });

  it("The SARIF report names each rule of an analyzer and each category of the model once", () => {
    const findings = [
      sampleFinding(),
      sampleFinding({ id: "f2" }),
      sampleFinding({ source: "ast-grep/py-mutable-default" }),
    ].map((finding) => ({ finding, placement: { kind: "inline" } as const }));
    expect(runOf({ findings }).tool.driver.rules.map((rule) => rule.id)).toEqual([
      "ast-grep/py-mutable-default",
      "model/correctness",
    ]);
  });

  it("The SARIF report explains each rule without live text", () => {
    const finding = sampleFinding({
      source: "ast-grep/py-mutable-default",
      title: "The default is shared",
      body: "Every call gets it. [x](https://evil.test) @octocat",
    });
    const [rule] = runOf({ findings: [{ finding, placement: { kind: "inline" } }] }).tool.driver.rules;
    expect(rule).toMatchObject({
      name: "AstGrepPyMutableDefault",
      shortDescription: { text: "The default is shared" },
      help: {
        text: expect.stringMatching(
          /^Every call gets it\. .*rule ast-grep\/py-mutable-default, without a model\.$/s,
        ),
      },
    });
    expect(rule?.help.text).not.toContain("](");
    expect(liveIn(rule?.help.markdown ?? "")).toEqual([]);
    const [byModel] = runOf({}).tool.driver.rules;
    expect(byModel).toMatchObject({
      name: "ModelCorrectness",
      help: { text: expect.stringMatching(/^A language model/) },
    });
    expect(byModel?.help.text).not.toContain("item.price");
  });

  it("The SARIF report names its analysis only if there is a category", () => {
    expect(runOf({})).not.toHaveProperty("automationDetails");
    const log = toSarif(sampleResult(), { version: "0.1.0", category: "backend" }) as { runs: unknown[] };
    expect(log.runs[0]).toHaveProperty("automationDetails", { id: "hunkwise/backend/" });
    expect(validate(log)).toBe(true);
  });

  it("The SARIF report explains also a rule whose matches were all rejected", () => {
    fc.assert(
      fc.property(anyResult, (result) => {
        const [run] = (toSarif(result, { version: "0.1.0", category: "a" }) as { runs: Run[] }).runs;
        const rules = run?.tool.driver.rules ?? [];
        for (const { help } of rules) {
          expect(help.text).not.toBe("");
          expect(liveIn(help.markdown)).toEqual([]);
        }
        expect(run?.results.every(({ ruleIndex }) => rules[Number(ruleIndex)] !== undefined)).toBe(true);
      }),
      { numRuns: 100 },
    );
    const dropped = [sampleDropped({ verdict: "rejected", rule: "ast-grep/py-eval" })];
    expect(runOf({ findings: [], dropped }).tool.driver.rules).toMatchObject([
      {
        ...{ id: "ast-grep/py-eval", name: "AstGrepPyEval" },
        fullDescription: {
          text: expect.stringMatching(/^Prices may be missing\n\nThe rule ast-grep\/py-eval/),
        },
      },
    ]);
  });

  it("The SARIF report says what a model left unread, and offline only that none read anything", () => {
    const coverage = {
      ...sampleResult().coverage,
      hunks_served: 1,
      unserved: [
        { path: "a.ts", hunks: 1 },
        { path: "b.ts", hunks: 2 },
      ],
    };
    const notes = (over: Partial<ReviewResult>) =>
      runOf({ coverage, ...over }).invocations[0]?.toolExecutionNotifications.map(
        ({ message }) => message.text,
      );
    expect(notes({ stop_reason: "token_limit" })?.slice(1)).toEqual([
      "Not read: a.ts, 1 hunk.",
      "Not read: b.ts, 2 hunks.",
    ]);
    expect(notes({ mode: "offline", model: null, stop_reason: "no_model" })).toEqual([
      expect.stringMatching(/^Offline: /),
    ]);
  });

  it("The SARIF report calls a partial run not successful, and an offline one successful", () => {
    const [partial] = runOf({ stop_reason: "cost_limit" }).invocations;
    expect(partial?.executionSuccessful).toBe(false);
    const [offline] = runOf({ mode: "offline", model: null, stop_reason: "no_model" }).invocations;
    expect(offline?.executionSuccessful).toBe(true);
    expect(offline?.toolExecutionNotifications[0]?.message.text).toMatch(
      /no model read this change; .*checked it/,
    );
  });

  it("The SARIF report has no invisible character", () => {
    const finding = sampleFinding({ title: "a\u202eb\u009b" });
    const text = renderSarif(sampleResult({ findings: [{ finding, placement: { kind: "inline" } }] }), {
      version: "0.1.0",
    });
    expect(text).not.toMatch(/[\u202e\u009b]/);
    expect(JSON.parse(text).runs[0].results[0].message.text).toContain("a\u202eb\u009b");
  });

  it("The SARIF report has no live Markdown of a model", () => {
    const hostile = "[x](https://evil.test) ![x](//evil.test) <img src=x> @octocat fixes #12";
    const { message } = resultOf({ title: hostile, body: hostile });
    expect(liveIn(message.markdown)).toEqual([]);
    expect(message.text).not.toContain("](");
  });
});

describe("The SARIF report of a finding with a test", () => {
  it("The SARIF report says what the test shows in the message, and has it as a property", () => {
    const findings = [
      { finding: sampleFinding({ proof: sampleProof() }), placement: { kind: "inline" } as const },
    ];
    expect(validate(toSarif(sampleResult({ findings }), { version: "0.1.0" }))).toBe(true);
    const { message, properties } = resultOf({ proof: sampleProof({ before: "2", now: "[0](x)" }) });
    const said = "Regression shown by a test. Before: 2. Now: ";
    expect(message.text).toContain(`\n\n${said}[0] (x).\n\n`);
    expect(message.markdown).toContain(`\n\n${said}\\[0](x).\n\n`);
    expect(properties).toMatchObject({ proof: { kind: "regression", test: sampleProof().test } });
  });

  it("The SARIF report changes only the property if no test shows anything", () => {
    const proof = { kind: "not_shown", reason: "it passes" } as const;
    const { properties, ...shown } = resultOf({ proof });
    const { properties: _, ...without } = resultOf({});
    expect(shown).toEqual(without);
    expect(properties).toMatchObject({ proof });
    expect(_).not.toHaveProperty("proof");
  });
});
