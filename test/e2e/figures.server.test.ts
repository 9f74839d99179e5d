import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import type { Insights } from "../../src/server/figures/insights.ts";
import type { FakeScript } from "../support/fake-openai.ts";
import { runCli } from "../support/run-cli.ts";
import { finding, finish, numbers, onApp, patient, turn, until } from "./conformance-fixture.ts";
import { onPull } from "./on-pull.ts";

const path = "src/numbers.js";
const base = { [path]: numbers(60) };
const changed = (n24: string) => ({
  [path]: numbers(60, { 8: "const n8 = 0;", 24: `const n24 = ${n24};`, 40: "const n40 = 0;" }),
});
const at = (line: number, severity: string) =>
  finding({ line, quote: `const n${line} = 0;`, title: `n${line} is no longer ${line}`, severity });
const three: FakeScript = (_, n) =>
  turn(...(n === 0 ? [at(8, "high"), at(24, "high"), at(40, "medium")] : []), finish);

describe.concurrent("the figures of a pull request", patient, () => {
  it("The figures of a pull request say what its reviews cost, and what became of each finding", () =>
    onPull(
      {
        base,
        head: changed("0"),
        script: three,
        resolution: (asked) => (asked.includes("n24 is no longer") ? "fixed" : "present"),
      },
      async (app) => {
        const { dataFolder, repository } = app;
        const name = `octo-org/${repository.name}`;
        const read = async (): Promise<Insights> => {
          const args = ["report", "--since", "7d", "--format", "json", "--repository", name];
          const { code, stdout, stderr } = await runCli(args, { env: { HUNKWISE_DATA_DIR: dataFolder } });
          expect([code, stderr]).toEqual([0, ""]);
          return JSON.parse(stdout);
        };

        await app.review();
        await app.idle();
        const thread = (line: number) =>
          app.threads().find(({ body }) => body.includes(`n${line} is no longer`))!;
        const open = await read();
        expect(open.totals).toMatchObject({ reviews: 1, quiet: 0, complete: 1, delivered: 0, merged: 0 });
        expect(open.totals.turns).toBe(open.models.reduce((sum, { turns }) => sum + turns, 0));
        expect(open.totals.turns).toBeGreaterThan(0);

        // One is dismissed by a person with write access, one is fixed, one stays as it is and gets thumbs.
        await app.reply(thread(8), "octocat", "Won't fix, this is intended.");
        await app.idle();
        app.people.react(thread(40), "eve", "+1");
        app.people.react(thread(40), "eve", "-1");
        await app.push(changed("24.0"));
        app.people.merge(app.pull);
        await app.send("closed");
        await app.idle();

        const { totals, by, weeks } = await read();
        const outcomes = {
          delivered: 3,
          fixed: 1,
          dismissed: 1,
          ignored: 1,
          unclear: 0,
          withdrawn: 0,
          unmerged: 0,
        };
        expect(totals).toMatchObject({ ...outcomes, merged: 1, closed: 0, thumbs_up: 1, thumbs_down: 1 });
        expect(totals).toMatchObject({ reviews: 3, quiet: 2, failed: 0 });
        expect(by?.severity).toMatchObject([
          { value: "high", delivered: 2, fixed: 1, dismissed: 1 },
          { value: "medium", delivered: 1, ignored: 1 },
        ]);
        expect(weeks.at(-1)).toMatchObject(outcomes);

        // What is read again counts once.
        await app.send("closed");
        await app.idle();
        expect((await read()).totals).toMatchObject({ ...outcomes, merged: 1 });

        app.people.reopen(app.pull);
        await app.send("reopened");
        await app.idle();
        expect((await read()).totals).toMatchObject({ delivered: 0, merged: 0, closed: 0 });
      },
    ));
});

describe("figures that were lost", patient, () => {
  it("Lost figures are counted again from what GitHub shows, but for what reviews cost", () =>
    onApp({ base, head: changed("0"), script: three }, async (app) => {
      const env = { HUNKWISE_DATA_DIR: app.dataFolder };
      const report = (...args: string[]) => runCli(["report", "--since", "7d", ...args], { env });
      const read = async (): Promise<Insights> => JSON.parse((await report("--format", "json")).stdout);
      await app.review();
      const [first] = app.threads();
      await app.reply(first!, "octocat", "Won't fix, this is intended.");
      await app.idle();
      app.people.merge(app.pull);
      await app.send("closed");
      await app.idle();
      const before = await read();
      expect(before.totals).toMatchObject({ delivered: 3, dismissed: 1, ignored: 2, merged: 1 });

      using database = new DatabaseSync(join(app.dataFolder, "queue.db"));
      for (const table of ["repository", "finding", "finding_text", "pull", "outcome_week"])
        database.exec(`DELETE FROM ${table}`);
      expect((await read()).totals).toMatchObject({ delivered: 0, merged: 0 });

      expect(await report("--recount")).toMatchObject({ code: 0, stdout: "" });
      await until(
        () =>
          database.prepare("SELECT count(*) AS n FROM job WHERE state IN ('waiting', 'active')").get()?.n ===
          0,
      );
      expect(await read()).toEqual(before);
    }));
});
