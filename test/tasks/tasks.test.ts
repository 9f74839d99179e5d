import { describe, expect, it } from "vitest";
import { codeHash } from "../../src/core/ledger/entry.ts";
import { parseMarker } from "../../src/core/ledger/marker.ts";
import { registerSecret } from "../../src/core/secrets/live-secrets.ts";
import { renderComment } from "../../src/pull/publish/render-comment.ts";
import { answerTask } from "../../src/tasks/answer/answer-input.ts";
import { proveTask } from "../../src/tasks/prove/prove-input.ts";
import { certainPairs } from "../../src/tasks/review/followup/compare-findings.ts";
import { reviewTask } from "../../src/tasks/review/review-task.ts";
import { sampleFinding, sampleProof, sampleResult } from "../report/sample-result.ts";
import { writeOut } from "../support/secret-corpus.ts";
import { seeded } from "../support/seeded.ts";
import { earlierFinding, facts } from "./review/followup/earlier-finding.ts";

const secret = writeOut("{hex:64}", seeded(5));
registerSecret(secret);
const backwards = [...secret].reverse().join("");

const full = {
  head_sha: "a".repeat(40),
  summary: `The key is ${secret}`,
  warnings: [`Read ${secret}`],
  config_changes: [`key: ${secret}`],
  dropped: [
    {
      id: "d",
      path: "a.ts",
      line: 1,
      title: secret,
      verdict: "refuted" as const,
      reason: `because ${backwards}`,
      ...{ rule: null, severity: null, category: null },
    },
  ],
  findings: [
    {
      finding: sampleFinding({
        title: `Uses ${secret}`,
        body: `It is ${Buffer.from(secret).toString("base64")}`,
        quote: `const key = "${secret}";`,
        suggestion: `const key = "${secret}";`,
        verification_note: secret,
        evidence: [{ path: "a.ts", start_line: 1, end_line: 1, note: secret }],
        places: [{ path: "a.ts", side: "RIGHT", line: 3, start_line: null, quote: secret }],
      }),
      placement: { kind: "summary" as const, reason: secret },
    },
  ],
};

describe("what a review process hands back", () => {
  it("holds no secret in any of its texts", async () => {
    const text = JSON.stringify(await reviewTask.redact(sampleResult(full)));
    for (const form of [secret, backwards, Buffer.from(secret).toString("base64")])
      expect(text).not.toContain(form.slice(4, -4));
  });

  it("offers no code to commit that a secret was cut out of, and says so", async () => {
    const { finding } = (await reviewTask.redact(sampleResult(full))).findings[0]!;
    expect(finding.suggestion).toBeNull();
    expect(finding.body).toMatch(
      /\n\nThe suggestion for these lines was removed because it contained a secret\.$/,
    );
  });

  it("quotes nothing of lines that hold a secret, whose hash would help to guess it", async () => {
    const { finding } = (await reviewTask.redact(sampleResult(full))).findings[0]!;
    expect([finding.quote, finding.places[0]!.quote]).toEqual(["", ""]);
  });

  it("is known again by the next review, though nothing of its lines was kept", async () => {
    const { finding: written } = full.findings[0]!;
    const { finding } = (await reviewTask.redact(sampleResult(full))).findings[0]!;
    const commits = { headSha: full.head_sha, mergeBaseSha: "b".repeat(40) };
    const context = { ...commits, repositoryUrl: "https://github.com/octo/shop", trigger: "event" };
    const marker = parseMarker(renderComment(finding, { kind: "line" }, context));
    if (marker?.kind !== "finding") throw new Error("no marker");
    expect(JSON.stringify(marker)).not.toContain(codeHash(written.quote));
    const { path, line, side } = finding;
    const { id, code, category, symbol } = marker;
    const earlier = earlierFinding({ id, code, category, symbol, path, line, side, title: finding.title });
    const again = { ...written, title: "Said in other words" };
    expect(certainPairs([again], [earlier], facts()).get(again)).toBe(earlier);
    expect(certainPairs([again], [earlier], facts(new Set([earlier]))).get(again)).toBe(earlier);
  });

  it("is the same where there is no secret, also in names that could be taken for one", async () => {
    const like = { id: "f".repeat(40), path: "src/ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6.ts" };
    const result = sampleResult({
      findings: [{ finding: sampleFinding(like), placement: { kind: "inline" } }],
    });
    expect(await reviewTask.redact(result)).toEqual(result);
  });

  it("is clean as an answer too", async () => {
    const answer = {
      text: `It is ${secret}`,
      model: "m",
      stop_reason: "finished" as const,
      usage: sampleResult().usage,
    };
    expect(await answerTask.redact(answer)).toEqual({ ...answer, text: "It is [secret]" });
  });
});

describe("a test that holds a secret", () => {
  const proof = sampleProof({ test: { path: "test/a.test.ts", text: `check("${secret}");\n` } });
  const nothing = { kind: "not_shown", reason: "the test contained a secret" };

  it("is none: what is left of it is another one than the one that ran", async () => {
    const findings = [{ finding: sampleFinding({ proof }), placement: { kind: "inline" as const } }];
    expect((await reviewTask.redact(sampleResult({ findings }))).findings[0]?.finding.proof).toEqual(nothing);
    const prove = {
      ...{ proofs: [{ id: "f1", proof }], model: "m", stop_reason: "finished" as const },
      usage: sampleResult().usage,
    };
    expect(await proveTask.redact(prove)).toMatchObject({ proofs: [{ id: "f1", proof: nothing }] });
  });

  it("stays without the secret where only an output holds it", async () => {
    const runs = [{ on: "head" as const, exit_code: 1, output: `key ${secret}` }];
    const findings = [
      { finding: sampleFinding({ proof: sampleProof({ runs }) }), placement: { kind: "inline" as const } },
    ];
    const { proof: clean } = (await reviewTask.redact(sampleResult({ findings }))).findings[0]!.finding;
    expect(clean).toEqual(sampleProof({ runs: [{ on: "head", exit_code: 1, output: "key [secret]" }] }));
  });
});
