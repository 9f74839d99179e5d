import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import type { EventJson } from "../../src/report/event.ts";
import { fiveSecrets } from "../attacks/five-secrets.ts";
import { withAgreeingSceptic } from "../support/agreeing-sceptic.ts";
import { type AppUnderTest, startApp } from "../support/app-under-test.ts";
import { type EventReceiver, startEventReceiver } from "../support/event-receiver.ts";
import type { FakeScript } from "../support/fake-openai.ts";
import { finding, finish, numbers, onApp, patient, turn } from "./conformance-fixture.ts";

/*
 * Events through the real server process, before a simulated GitHub and a real receiver.
 */

const secret = `whsec_${randomBytes(32).toString("base64")}`;
const secrets = fiveSecrets();
const scenario = { base: { "config.py": "import os\n" }, head: { [secrets.path]: secrets.text } };
const env = ({ url }: EventReceiver) => ({ HUNKWISE_EVENTS_URL: url, HUNKWISE_EVENTS_SECRET: secret });

async function ended(app: AppUnderTest, receiver: EventReceiver): Promise<void> {
  await app.server.stop();
  const { received, complaints } = receiver;
  const sent = JSON.stringify(received);
  for (const value of secrets.values) expect(sent).not.toContain(value);
  expect(app.server.log()).not.toContain(secret);
  expect(app.server.log()).not.toContain("a-secret-path");
  expect(complaints).toEqual([]);
  expect(app.github.violations).toEqual([]);
}

it(
  "A receiver gets a review and a dismissal, and one that is down at first delays nothing",
  patient,
  async () => {
    await using receiver = await startEventReceiver(secret, (response, nth) => {
      response.writeHead(nth === 1 ? 503 : 200).end();
    });
    await using app = await startApp({ ...scenario, env: env(receiver) });
    await app.send("opened");
    await app.concluded();
    await receiver.until((all) => all.length === 2);
    const [first, second] = receiver.received;
    expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
    expect(second?.body).toBe(first?.body);
    expect(first?.event).toMatchObject({
      type: "review.completed",
      data: {
        outcome: "offline",
        conclusion: app.repository.checkRuns[0]?.conclusion,
        repository: { owner: app.repository.owner.login, name: app.repository.name },
        pull: { number: app.pull.number },
      },
    });
    const { findings } = (first!.event as { data: { findings: { url: string }[] } }).data;
    expect(findings).toHaveLength(5);
    for (const { url } of findings) expect(url).toMatch(/#discussion_r\d+$/);

    await app.reply(app.pull.reviewComments[0]!, "octocat", "/resolve");
    await receiver.until((all) => all.some(({ event }) => event.type === "finding.dismissed"));
    expect(
      receiver.received.findLast(({ event }) => event.type === "finding.dismissed")?.event,
    ).toMatchObject({
      data: { by: "octocat", how: "command", finding: { path: secrets.path, state: "dismissed" } },
    });
    await ended(app, receiver);
  },
);

it("A receiver gets a review once by its id, whenever the server is killed", patient, async () => {
  await using receiver = await startEventReceiver(secret);
  await using app = await startApp({ ...scenario, env: env(receiver) });
  for (const number of [1, 2, 3]) {
    await app.comment("octocat", "/review full");
    const before = app.repository.checkRuns.filter(({ status }) => status === "completed").length;
    await app.github.until(
      () => app.repository.checkRuns.filter(({ status }) => status === "completed").length > before,
      300_000,
    );
    await app.killAndRestart();
    const ids = () => new Set(receiver.received.map(({ headers }) => headers["webhook-id"]));
    await receiver.until(() => ids().size === number);
  }
  const completed = receiver.received.filter(({ event }) => event.type === "review.completed");
  expect(new Set(completed.map(({ event }) => (event.data as { job: string }).job)).size).toBe(3);
  await ended(app, receiver);
});

it(
  "A receiver gets once that a finding is fixed, with the words and costs of a model's review",
  patient,
  async () => {
    await using receiver = await startEventReceiver(secret);
    const path = "src/numbers.js";
    const wrong = finding({ line: 24, quote: "const n24 = 0;", title: 'Not "24" for <b>readers</b>' });
    const reviewer: FakeScript = (body) =>
      turn(...(JSON.stringify(body.messages).includes("const n24 = 0;") ? [wrong] : []), finish);
    const fixed = () => ({ state: "fixed" as const, reason: "The number is 24 again." });
    const { script } = withAgreeingSceptic(reviewer, { resolution: fixed });
    const base = { [path]: numbers(60) };
    const head = { [path]: numbers(60, { 24: "const n24 = 0;" }) };
    await onApp({ base, head, everyRole: script, env: env(receiver) }, async (app) => {
      await app.review();
      await receiver.until((all) => all.length === 1);
      await app.push({ [path]: numbers(60, { 24: "const n24 = 24.0;" }) });
      await app.push({ [path]: numbers(60, { 24: "const n24 = 24.0;", 50: "const n50 = 50.0;" }) });
      const ofType = (type: EventJson["type"]) =>
        receiver.received.filter(({ event }) => event.type === type);
      await receiver.until(() => ofType("review.completed").length === 3);
      const [first] = ofType("review.completed");
      expect(first?.event).toMatchObject({
        data: {
          ...{ outcome: "complete", model: "fake-model", coverage: { hunks_total: 1, hunks_served: 1 } },
          findings: [
            { title: 'Not "24" for <b>readers</b>', path, line: 24, state: "open", source: "model" },
          ],
          usage: { requests: expect.any(Number), prompt_tokens: expect.any(Number) },
        },
      });
      expect(ofType("finding.fixed").map(({ event }) => event)).toMatchObject([
        { data: { finding: { path, state: "fixed", severity: "high" }, pull: { number: app.pull.number } } },
      ]);
    });
    expect(receiver.complaints).toEqual([]);
  },
);
