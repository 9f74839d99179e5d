import { describe, expect, it } from "vitest";
import { adviceOn, type DemoEnd } from "../scripts/demo-advice.ts";

const end = (over: Partial<DemoEnd>): DemoEnd => ({
  ...{ found: 0, planted: 6, withModel: true, check: { title: "No problems found", summary: "" } },
  ...over,
});

describe("the end of the demo", () => {
  it("says what to do where the model did not answer", () => {
    const failed = { title: "The review failed", summary: "The model could not be reached" };
    expect(adviceOn(end({ check: failed })).join("\n")).toMatch(
      /^No model answered\. .*doctor[\s\S]*Without OPENAI/,
    );
    const partly = { title: "Incomplete review: 4 findings", summary: "Usage: no requests to a model." };
    expect(adviceOn(end({ found: 4, check: partly })).join("\n")).toMatch(/^No model answered\./);
  });

  it("says what to do where a model missed some, where there is none, and nothing where all were found", () => {
    expect(adviceOn(end({ found: 5 }))).toEqual([
      expect.stringContaining("Set HUNKWISE_MODEL to another one"),
    ]);
    expect(adviceOn(end({ found: 4, withModel: false }))).toEqual([
      expect.stringContaining("Set OPENAI_API_KEY"),
    ]);
    expect(adviceOn(end({ found: 6 }))).toEqual([]);
  });
});
