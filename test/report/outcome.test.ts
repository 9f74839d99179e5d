import { describe, expect, it } from "vitest";
import { maskedSentence, outcomeOf, outcomeSentence } from "../../src/report/outcome.ts";
import { nothingReviewable, sampleResult, skipping } from "./sample-result.ts";

const offline = { mode: "offline", model: null, stop_reason: "no_model" } as const;

describe("A result with skipped files", () => {
  it.each([
    ["overlong lines", "overlong lines"],
    ["too large (20001 changed lines)", "too large"],
    ["lock file that cannot be read (it has a fault in its JSON)", "lock file that cannot be read"],
    ["submodule at another commit", "submodule at another commit"],
  ])("A result is partial if files were skipped for %s", (reason, kind) => {
    const result = sampleResult(skipping(reason, "lock file", reason));
    expect(outcomeOf(result)).toBe("partial");
    expect(outcomeSentence(result)).toBe(`Partial: 2 files were not read (${kind}); 3 of 3 hunks were read`);
  });

  it.each(["lock file", "image", "generated", "ignored by configuration"])(
    "A result is complete if files were skipped as %s",
    (reason) => {
      const result = sampleResult(skipping(reason));
      expect([outcomeOf(result), outcomeSentence(result)]).toEqual(["complete", ""]);
    },
  );

  it("A result names each kind of skipped files once", () => {
    const result = sampleResult(
      skipping("binary that runs", "submodule at another commit", "binary that runs"),
    );
    expect(outcomeSentence(result)).toBe(
      "Partial: 3 files were not read (binary that runs, submodule at another commit); 3 of 3 hunks were read",
    );
  });

  it("A result of skipped files alone has no hunks", () => {
    expect(outcomeSentence(sampleResult(nothingReviewable("too large")))).toBe(
      "Partial: 1 file was not read (too large)",
    );
  });

  it("A result names first what else was left undone", () => {
    const result = sampleResult({ ...skipping("overlong lines"), stop_reason: "turn_limit" });
    expect(outcomeSentence(result)).toBe(
      "Partial: the limit of model turns was reached; 1 file was not read (overlong lines); 3 of 3 hunks were read",
    );
  });

  it("An offline result is partial if the analyzers did not read the files either", () => {
    const result = sampleResult({ ...skipping("overlong lines"), ...offline });
    expect(outcomeOf(result)).toBe("partial");
    expect(outcomeSentence(result)).toMatch(
      /^Offline: .*no model read this change; .*checked it; 1 file was not read \(overlong lines\)$/,
    );
  });
});

describe("The values that were hidden from the model", () => {
  const masked = [{ path: "a.ts", line: 3 }];
  const show = ({ path, line }: { path: string; line: number }) => `${path}:${line}`;
  const [secret] = sampleResult().findings.map(({ finding, placement }) => ({
    ...{ placement, finding: { ...finding, source: "secrets/github-token" } },
  }));

  it("Hidden values are named beside the reported secrets, which were hidden as well", () => {
    const said = "1 value on a changed line looks like a secret and was hidden from the model: a.ts:3";
    expect(maskedSentence(sampleResult({ masked }), show)).toBe(said);
    const findings = secret ? [secret] : [];
    expect(maskedSentence(sampleResult({ masked, findings }), show)).toBe(
      `${said}; so were the reported secrets`,
    );
  });

  it("Nothing was hidden if no model was asked", () => {
    const usage = { ...sampleResult().usage, requests: 0 };
    expect(maskedSentence(sampleResult({ masked, usage }), show)).toBe("");
  });
});

describe("Files that the analyzers did not finish", () => {
  const unanalyzed = ["config.py", "data.py"];

  it("A result is partial although a model read everything, because a certain finding may be missing", () => {
    const result = sampleResult({ unanalyzed });
    expect(outcomeOf(result)).toBe("partial");
    expect(outcomeSentence(result)).toBe(
      "Partial: the built-in analyzers did not finish on 2 files; 3 of 3 hunks were read",
    );
  });

  it("A result is partial if only the analyzers looked", () => {
    const result = sampleResult({ unanalyzed, ...offline });
    expect(outcomeOf(result)).toBe("partial");
    expect(outcomeSentence(result)).toMatch(
      /^Offline: .*; the built-in analyzers did not finish on 2 files$/,
    );
  });
});

describe("Branches with several merge bases", () => {
  it("A result is partial although a model read everything since one base, and says what to do", () => {
    const result = sampleResult({ merge_bases: 2 });
    expect(outcomeOf(result)).toBe("partial");
    expect(outcomeSentence(result)).toBe(
      "Partial: the branches have 2 merge bases, and only the change since one of them was read (to have all of it reviewed, merge the base branch into this one); 3 of 3 hunks were read",
    );
  });
});
