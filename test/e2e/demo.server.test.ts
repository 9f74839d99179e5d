import { describe, expect, it } from "vitest";
import { startDemo } from "../../scripts/demo-run.ts";
import { Browser } from "../support/browser.ts";
import { type FakeScript, startFakeOpenAi } from "../support/fake-openai.ts";
import { shortTimes } from "../support/short-times.ts";
import { patient } from "./conformance-fixture.ts";

/** The places of the demo's line comments, after its review. */
async function placesOf(env: Record<string, string>): Promise<string[]> {
  await using demo = await startDemo({
    ...shortTimes({ reconcileEveryMs: 3_600_000 }),
    HUNKWISE_GRAPH: "off",
    ...env,
  });
  await demo.deliverOpened();
  await demo.reviewed();
  return demo.scenario.pull.reviewComments.map(({ path, anchor }) => `${path}:${anchor?.line}`).toSorted();
}

const silent: FakeScript = () => ({
  tool_calls: [{ name: "finish_review", arguments: { summary: "Adds percentiles." } }],
});

describe("the demo", () => {
  it("The demo opens the server's pages with a made-up history, if asked", patient, async () => {
    await using demo = await startDemo({ HUNKWISE_GRAPH: "off" }, { pages: true });
    const browser = new Browser(demo.server.url.replace("127.0.0.1", "localhost"));
    await browser.login();
    const { text } = await browser.get("/insights?days=90");
    expect(text).toMatch(/Last week.* \d+ reviews?/s);
    expect(text).toContain("octo-org/night-report");
    expect((await browser.get("/findings")).text).toContain("The last hour of the report is read twice");
  });

  it("The demo shows the same with a model that finds nothing as without a model", patient, async () => {
    await using model = await startFakeOpenAi({ script: silent });
    const env = { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "test-key", HUNKWISE_MODEL: "fake-model" };
    const [without, withSilent] = await Promise.all([
      placesOf({}),
      placesOf({ ...env, HUNKWISE_PROTOCOL: "native" }),
    ]);
    expect(without.length).toBeGreaterThanOrEqual(5);
    expect(withSilent).toEqual(without);
  });
});
