import { describe, expect, it } from "vitest";
import { adviceOn, type DemoEnd } from "../scripts/demo-report.ts";

const end = (over: Partial<DemoEnd>): DemoEnd => ({
  ...{ found: 0, planted: 6, withModel: true, check: { title: "No problems found", summary: "" } },
  ...over,
});

describe("the end of the demo", () => {
  it("The demo says what to do if the model did not answer", () => {
    const failed = { title: "The review failed", summary: "The model could not be reached" };
    expect(adviceOn(end({ check: failed })).join("\n")).toMatch(
      /^No model answered\. .*doctor[\s\S]*Without OPENAI/,
    );
    const partly = { title: "Incomplete review: 4 findings", summary: "Usage: no requests to a model." };
    expect(adviceOn(end({ found: 4, check: partly })).join("\n")).toMatch(/^No model answered\./);
  });

  it("The demo says what to do if a fault was missed, and nothing if all were found", () => {
    expect(adviceOn(end({ found: 5 }))).toEqual([
      expect.stringContaining("Set HUNKWISE_MODEL to another one"),
    ]);
    expect(adviceOn(end({ found: 4, withModel: false }))).toEqual([
      expect.stringContaining("Set OPENAI_API_KEY"),
    ]);
    expect(adviceOn(end({ found: 6 }))).toEqual([]);
  });
});
