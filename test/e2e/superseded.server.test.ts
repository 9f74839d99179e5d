import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import type { ChatRequestBody } from "../support/fake-openai.ts";
import { finding, finish, numbers, onApp, patient, turn, until } from "./conformance-fixture.ts";

const long = process.env.HUNKWISE_LONG === "1";

const path = "src/numbers.js";
const base = { [path]: numbers(60), "src/other.js": numbers(60) };
const head = { [path]: numbers(60, { 24: "const n24 = 0;" }) };
const shows = (body: ChatRequestBody, text: string) => JSON.stringify(body.messages).includes(text);

describe("a push while the head before it is reviewed", patient, () => {
  it("A push cancels the review of the head before: nothing stale is posted, and the new head is reviewed", () => {
    let asked = 0;
    const gate = Promise.withResolvers<void>();
    return onApp(
      {
        base,
        head,
        script: async (body) => {
          asked += 1;
          // The first review hangs in its turn until well after the push.
          if (shows(body, "+const n24 = 0;")) await gate.promise;
          return turn(
            ...(shows(body, "const n24 = 24.5;")
              ? [finding({ line: 24, quote: "const n24 = 24.5;", title: "Twenty-four and a half is wrong" })]
              : [finding({ line: 24, quote: "const n24 = 0;", title: "A stale word about zero" })]),
            finish,
          );
        },
      },
      async (app) => {
        await app.send("opened");
        await until(() => asked > 0);
        app.people.push(app.pull, { [path]: numbers(60, { 24: "const n24 = 24.5;" }) });
        await app.send("synchronize");
        await app.concluded();
        gate.resolve();
        await app.idle();

        expect(app.end()).toEqual({
          reviews: 1,
          comments: [`${path} RIGHT 24`],
          summaries: 1,
          check: "neutral",
        });
        expect(app.bodies().join()).not.toContain("A stale word");
        expect(app.repository.checkRuns.map(({ conclusion }) => conclusion)).toEqual([
          "cancelled",
          "neutral",
        ]);
      },
    );
  });
});

describe("a push while a large change is read in parts", patient, () => {
  it.runIf(long)("A push keeps the completely read parts: only the rest is requested again", () => {
    const folders = ["one", "two", "three", "four"];
    const files = (value: number) =>
      Object.fromEntries(folders.map((name) => [`${name}/a.js`, numbers(400, everyThird(value, name))]));
    const gate = Promise.withResolvers<void>();
    let hasPushed = false;
    const read: string[] = [];
    return onApp(
      {
        base: Object.fromEntries(folders.map((name) => [`${name}/a.js`, numbers(400)])),
        head: files(1),
        // Units of about one file each.
        env: { HUNKWISE_CONTEXT_TOKENS: "12000" },
        script: async (body) => {
          const diff = JSON.stringify(body.messages).split("# Diff").at(-1) ?? "";
          const shown = folders.filter((name) => diff.includes(`## ${name}/a.js`));
          if (hasPushed) read.push(...shown);
          // The last folder's reader hangs until the push.
          if (!hasPushed && shown.includes("four")) await gate.promise;
          return turn(finish);
        },
      },
      async (app) => {
        await app.send("opened");
        await until(() => unitsOf(app.dataFolder) >= 3);
        hasPushed = true;
        app.people.push(app.pull, { "README.md": "Read me\n" });
        await app.send("synchronize");
        await app.concluded();
        gate.resolve();
        await app.idle();

        expect([...new Set(read)]).toEqual(["four"]);
        expect(app.end()).toMatchObject({ summaries: 1, check: "success" });
      },
    );
  });
});

/** Changes every third line, so that a file has as many changed lines as many hunks. */
function everyThird(value: number, name: string): Record<number, string> {
  const lines = Array.from({ length: 133 }, (_, at) => 3 * at + 1);
  return Object.fromEntries(lines.map((line) => [line, `const ${name}${line} = ${value}${line};`]));
}

/** Number of units recorded as completely read. */
function unitsOf(dataFolder: string): number {
  using database = new DatabaseSync(join(dataFolder, "queue.db"), { readOnly: true });
  const rows = database.prepare("SELECT entry FROM trajectory").all();
  return rows.filter(({ entry }) => /"kind":"unit"/.test(String(entry))).length;
}

describe("ten pushes within a short window", patient, () => {
  it("Ten pushes are at most two reviews that run to their end, and the newest head is reviewed", () =>
    onApp(
      { base, head, script: () => turn(finish), env: { HUNKWISE_PUSH_WINDOW_SECONDS: "1" } },
      async (app) => {
        await app.send("opened");
        for (let n = 1; n <= 10; n++) {
          app.people.push(app.pull, { "src/other.js": numbers(60, { 9: `const n9 = ${n}00;` }) });
          await app.send("synchronize");
        }
        await app.concluded();
        await app.idle();

        const ended = app.repository.checkRuns.filter(({ conclusion }) => conclusion === "success");
        expect(ended.length).toBeLessThanOrEqual(2);
        expect(ended.at(-1)?.headSha).toBe(app.pull.heads.at(-1));
        expect(app.repository.checkRuns.every(({ status }) => status === "completed")).toBe(true);
      },
    ));
});
