import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { onApp, patient, turn } from "./conformance-fixture.ts";
import { onPull } from "./on-pull.ts";

const before = `export function total(items) {
  return items.reduce((sum, one) => sum + one, 0);
}

export function first(items) {
  if (items.length === 0) return undefined;
  return items[0];
}
`;
const after = `export function total(items) {
  return items.reduce((sum, one) => sum + one);
}

export function first(items) {
  return items[0].value;
}

export async function sendAll(items, send) {
  items.forEach(async (one) => {
    await send(one);
  });
}
`;
const base = { "src/list.js": before, "README.md": "# Lists\n" };
const head = { "src/list.js": after };

const finding = (over: Record<string, unknown>) => ({
  name: "report_finding",
  arguments: {
    path: "src/list.js",
    severity: "high",
    category: "correctness",
    body: "It throws a TypeError on an empty list.",
    confidence: 0.8,
    ...over,
  },
});
const reduce = finding({
  line: 2,
  quote: "return items.reduce((sum, one) => sum + one);",
  title: "An empty list throws",
});
const guard = finding({
  side: "LEFT",
  line: 6,
  quote: "  if (items.length === 0) return undefined;",
  title: "The guard against an empty list is gone",
});
const elsewhere = finding({
  path: "README.md",
  line: 1,
  quote: "# Lists",
  severity: "low",
  category: "docs",
  title: "The README does not mention sendAll",
});
const finish = { name: "finish_review", arguments: { summary: "Simplifies lists and adds sendAll." } };

describe.concurrent("a signed webhook", patient, () => {
  // In `npm test`, kill.test.ts kills a server at twenty moments.

  it("A webhook leads to one review, however often it is delivered, with comments on the right lines", () =>
    onPull(
      {
        base,
        head,
        script: [
          turn({ name: "read_file_part", arguments: { file_path: "src/list.js" } }),
          turn(reduce, guard, elsewhere, finish),
        ],
      },
      async (app) => {
        const { pull, repository } = app;

        const id = "11111111-1111-4111-8111-111111111111";
        const sent = await Promise.all([app.send("opened", id), app.send("opened", id)]);
        expect(sent.every((status) => status >= 200 && status < 300)).toBe(true);
        await app.concluded();
        await app.send("opened", id);
        await app.send("reopened");
        await app.idle();

        expect(app.reviewRequests).toHaveLength(2);
        expect(pull.reviews.map((review) => review.state)).toEqual(["COMMENTED"]);
        expect(
          pull.reviewComments.map(({ path, anchor }) => ({ path, side: anchor?.side, line: anchor?.line })),
        ).toEqual([
          { path: "src/list.js", side: "RIGHT", line: 2 },
          { path: "src/list.js", side: "LEFT", line: 6 },
        ]);
        const [summary] = pull.comments;
        expect(pull.comments).toHaveLength(1);
        expect(summary?.author.login).toBe("hunkwise[bot]");
        expect(summary?.body).toContain("Simplifies lists and adds sendAll.");
        expect(summary?.body).toContain("The README does not mention sendAll");
        expect(repository.checkRuns).toMatchObject([{ status: "completed", conclusion: "neutral" }]);
      },
    ));

  it("A request for a review is answered with eyes for people with write access, and ignored for others", () =>
    onPull({ base, head, script: () => turn(finish) }, async (app) => {
      const { pull, repository } = app;

      await app.comment("stranger", "/review");
      await app.idle();
      expect(app.reviewRequests).toEqual([]);
      expect(repository.checkRuns).toEqual([]);

      await app.comment("octocat", "/review");
      await app.idle();
      expect(repository.checkRuns.map(({ status }) => status)).toEqual(["completed"]);
      const reactions = pull.comments.map((comment) => comment.reactions.map(({ content }) => content));
      expect(reactions.slice(0, 2)).toEqual([[], ["eyes"]]);
    }));

  it("A review leaves no secret in logs, files or requests to the model, and SIGTERM ends its server cleanly", () =>
    onApp({ base, head, script: [turn(reduce, finish)], env: { LOG_LEVEL: "debug" } }, async (app) => {
      const { env, dataFolder, model, server, github } = app;
      await app.send("opened");
      await app.concluded();
      expect(await server.stop()).toBe(0);

      const tokens = [...github.state.tokens.keys()];
      const secrets = [
        ...tokens,
        env.WEBHOOK_SECRET,
        "sk-e2e-canary-1234567890",
        env.PRIVATE_KEY.split("\n")[1] ?? "?",
      ];
      const forms = secrets.flatMap((secret) => [
        secret,
        Buffer.from(secret).toString("base64").replace(/=+$/, ""),
      ]);
      const files = readdirSync(dataFolder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
      const texts = [server.log(), JSON.stringify(model?.requests.map((request) => request.body)), ...files];
      expect(tokens.length).toBeGreaterThan(0);
      expect(forms.filter((form) => texts.some((text) => text.includes(form)))).toEqual([]);
    }));
});
