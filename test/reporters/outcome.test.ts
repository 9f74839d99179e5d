import { describe, expect, it } from "vitest";
import { outcomeOf, outcomeSentence } from "../../src/reporters/outcome.ts";
import { nothingReviewable, sampleResult, skipping } from "./sample-result.ts";

const offline = { mode: "offline", model: null, stop_reason: "no_model" } as const;

describe("a result with files that were skipped", () => {
  it.each(["overlong lines", "too large", "too large (20001 changed lines)"])(
    "for their size (%s) is partial: nobody read what somebody may have written",
    (reason) => {
      const result = sampleResult(skipping(reason, "lock file", reason));
      expect(outcomeOf(result)).toBe("partial");
      expect(outcomeSentence(result)).toBe(
        "Partial: 2 files were too large to be read; 3 of 3 hunks were read",
      );
    },
  );

  it.each(["lock file", "vendored", "generated", "binary", "symbolic link", "ignored by configuration"])(
    "as %s is complete",
    (reason) => {
      const result = sampleResult(skipping(reason));
      expect([outcomeOf(result), outcomeSentence(result)]).toEqual(["complete", ""]);
    },
  );

  it("for their size alone has no hunks to speak of", () => {
    expect(outcomeSentence(sampleResult(nothingReviewable("too large")))).toBe(
      "Partial: 1 file was too large to be read",
    );
  });

  it("names what else was left undone first", () => {
    const result = sampleResult({ ...skipping("overlong lines"), stop_reason: "turn_limit" });
    expect(outcomeSentence(result)).toBe(
      "Partial: the limit of turns was reached; 1 file was too large to be read; 3 of 3 hunks were read",
    );
  });

  it("for their size is partial offline too, where the analyzers did not read them either", () => {
    const result = sampleResult({ ...skipping("overlong lines"), ...offline });
    expect(outcomeOf(result)).toBe("partial");
    expect(outcomeSentence(result)).toMatch(/^Offline: .*no model read it; 1 file was too large to be read$/);
  });
});
