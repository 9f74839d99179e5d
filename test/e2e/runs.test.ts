import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runReplay } from "../../src/cli/run-replay.ts";
import { capturedIo } from "../support/captured-io.ts";
import { TempFolder } from "../support/git-repo.ts";
import { startProcessHere } from "../support/process-here.ts";
import { runCli } from "../support/run-cli.ts";
import { runWithoutNetwork, whyNoWall } from "../support/without-network.ts";
import { finding, patient, turn } from "./conformance-fixture.ts";
import { onPull } from "./on-pull.ts";

const base = { "src/numbers.js": "export const one = 1;\nexport const two = 2;\n" };
const head = { "src/numbers.js": "export const one = 1;\nexport const two = 3;\n" };
const later = { "src/numbers.js": "export const one = 7;\nexport const two = 3;\n" };
const wrongTwo = finding({ line: 2, quote: "export const two = 3;", title: "Two is not three" });
const wrongOne = finding({ line: 1, quote: "export const one = 7;", title: "One is not seven" });
const finish = { name: "finish_review", arguments: { summary: "Changes numbers." } };
const wall = whyNoWall();

interface Row {
  id: string;
  [field: string]: unknown;
}

describe("the record of a server's review", patient, () => {
  it(`tells what it read, found, posted and paid, and replays to the same findings without a network${wall ? `: THE LAST NOT TRIED, ${wall}` : ""}`, () =>
    onPull({ base, head, script: [turn(wrongTwo, finish), turn(wrongOne, finish)] }, async (app) => {
      await app.review();
      await app.push(later);
      const { dataFolder, repository, model } = app;
      const asked = model?.requests.length;
      const env = { HUNKWISE_DATA_DIR: dataFolder };
      const of = ["--repository", `octo-org/${repository.name}`, "--pull", "1"];

      const listed = await runCli(["runs", "list", ...of, "--format", "json"], { env });
      expect(listed).toMatchObject({ code: 0, stderr: "" });
      const rows: Row[] = JSON.parse(listed.stdout);
      expect(rows).toMatchObject([
        { source: "server", task: "review", pull: 1, state: "done", findings: 1 },
        { source: "server", task: "review", pull: 1, state: "done", findings: 1 },
      ]);
      const [second, first] = rows;

      const { stdout } = await runCli(["runs", "show", first?.id ?? ""], { env });
      expect(stdout).toMatch(/report_finding high src\/numbers\.js:2 Two is not three/);
      expect(stdout).toMatch(/report_verdict \w+ confirmed/);
      expect(stdout).toMatch(/POST \/pulls\/1\/reviews {2}http\S+#pullrequestreview-\d+\n/);
      expect(stdout).toMatch(/POST \/issues\/1\/comments {2}http\S+#issuecomment-\d+\n/);
      expect(stdout).toMatch(/2 requests, [\d,]+ prompt tokens/);

      using folder = new TempFolder("runs");
      for (const row of [first, second]) {
        const file = join(folder.path, `${row?.id}.jsonl`);
        expect(await runCli(["runs", "export", row?.id ?? "", "--output", file], { env })).toMatchObject({
          code: 0,
        });
        const io = capturedIo();
        const values = { repo: repository.git.dir, format: "pretty" } as const;
        expect(await runReplay(file, values, io, startProcessHere()), io.printed()).toBe(0);
        expect(io.printed()).toContain("The same findings as on record: 1 high.");
        if (row !== second || wall !== null) continue;
        const { code, stdout: walled } = runWithoutNetwork(["replay", file, "--repo", repository.git.dir]);
        expect({ code, walled }).toEqual({ code: 0, walled: io.printed() });
      }
      expect(model?.requests.length).toBe(asked);
    }));
});
