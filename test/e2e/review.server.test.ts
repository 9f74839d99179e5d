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

/** Other files test these too, at more places or with a smaller setup. */
const long = process.env.HUNKWISE_LONG === "1";

describe.concurrent("a signed webhook", patient, () => {
  // In `npm test`, kill.test.ts kills a server at twenty moments.
  it.runIf(long)(
    "A pull request is reviewed once although the server is killed in the middle, and no turn is paid twice",
    () => {
      let killed = false;
      return onApp(
        {
          base,
          head,
          script: async (body) => {
            const answered = body.messages.filter((message) => message.role === "tool").length;
            if (answered === 0) return turn({ name: "changed_files", arguments: {} });
            if (answered === 1) return turn(reduce);
            // The first server never gets this answer.
            if (!killed) await new Promise(() => {});
            return turn(finish);
          },
        },
        async (app) => {
          const { pull, repository } = app;
          await app.send("opened");
          while (app.reviewRequests.length < 3) await new Promise((resolve) => setTimeout(resolve, 20));
          killed = true;
          await app.killAndRestart();
          await app.concluded();

          expect(pull.reviews).toHaveLength(1);
          expect(pull.reviewComments.map(({ anchor }) => anchor?.line)).toEqual([2]);
          expect(repository.checkRuns).toHaveLength(1);
          // Two turns, the turn in progress at the server's death, and the same turn again.
          expect(app.reviewRequests).toHaveLength(4);
        },
      );
    },
  );

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

  it.runIf(long)("A review without findings says so quietly, and is green", () =>
    onPull({ base, head, script: [turn(finish)] }, async (app) => {
      const { pull, repository } = app;

      await app.send("opened");
      await app.concluded();

      expect(pull.reviews).toEqual([]);
      expect(pull.comments).toHaveLength(1);
      // One line; the cost and the duration are folded below it.
      expect(pull.comments[0]?.body).toMatch(
        /^<details>\s*<summary>✅ Hunkwise found no problems: 1 hunk in 1 file read<\/summary>/,
      );
      expect(pull.comments[0]?.body).toMatch(/<\/details>\s*<!-- hunkwise:summary [^\n]* -->$/);
      expect(repository.checkRuns[0]?.conclusion).toBe("success");
    }),
  );

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

  it.runIf(long)("Without a model only the analyzers review, and every text says so", () =>
    onApp({ base, head }, async (app) => {
      const { pull, repository } = app;

      await app.send("opened");
      await app.concluded();

      expect(pull.reviewComments.map(({ anchor }) => anchor?.line)).toEqual([10]);
      expect(pull.comments[0]?.body).toMatch(/analyzers/i);
      expect(repository.checkRuns[0]?.conclusion).toBe("neutral");
      expect(repository.checkRuns[0]?.output.title).toMatch(/Analyzers only/);
    }),
  );

  it.runIf(long)(
    "A refused key ends in a failed check that names no address, and the review follows later",
    () => {
      let refuses = true;
      return onApp(
        {
          base,
          head,
          script: () =>
            refuses
              ? { fault: "status", status: 401, body: { error: { message: "bad key of org-4711" } } }
              : turn(finish),
        },
        async (app) => {
          const { pull, repository, model } = app;

          await app.send("opened");
          await app.concluded();
          expect(repository.checkRuns).toMatchObject([
            {
              conclusion: "neutral",
              output: { title: "The review failed. Analyzers only: 1 rule match not judged" },
            },
          ]);
          const texts = JSON.stringify([
            repository.checkRuns.map((run) => run.output),
            pull.comments.map((one) => one.body),
          ]);
          expect(texts).not.toContain(model?.url);
          expect(texts).not.toContain("org-4711");

          refuses = false;
          await app.send("reopened");
          await app.github.until(() => repository.checkRuns[0]?.conclusion === "success");
          expect(repository.checkRuns).toHaveLength(1);
        },
      );
    },
  );

  it.runIf(long)("A review works without the permission for check runs, and says which one is missing", () =>
    onApp(
      {
        base,
        head,
        script: [turn(reduce, finish)],
        permissions: { contents: "read", issues: "read", metadata: "read", pull_requests: "write" },
      },
      async (app) => {
        const { pull } = app;

        await app.send("opened");
        await app.github.until(() => pull.comments.length > 0, 500_000);

        expect(pull.reviewComments.map(({ anchor }) => anchor?.line)).toEqual([2]);
        expect(pull.comments[0]?.body).toMatch(/No check run: .*the permission "Checks: Read and write"/);
        // GitHub refused two tokens, once each: one with all that a job would like, and one for the organisation's repository, which is not
        // there. The App reads what was granted before it asks again, so that no third is refused.
        const asked = (wanted: 201 | 422) =>
          app.github.requests
            .filter(({ path, status }) => path.endsWith("/access_tokens") && status === wanted)
            .map(({ body }) => body);
        const optional = { checks: "write", statuses: "read" };
        const given = { contents: "read", pull_requests: "write", issues: "read" };
        expect(asked(422)).toMatchObject([
          { permissions: { ...given, ...optional } },
          { repositories: [".github"], permissions: { contents: "read" } },
        ]);
        expect(asked(201)[0]).toMatchObject({ permissions: given });
      },
    ),
  );

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
