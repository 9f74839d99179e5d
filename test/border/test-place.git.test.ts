import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createCommandSandbox, createFindTestPlace } from "../../src/border/test-place.ts";
import { defaultRepoConfig, type RepoConfig } from "../../src/config/repo-config.ts";
import { noSignal, sandboxFor } from "../sandbox/sandbox.ts";
import { placeOf } from "../support/checkout-place.ts";
import { GitRepo, TempFolder } from "../support/git-repo.ts";

const { sandbox, skipped } = await sandboxFor("that tests of proofs find their environment");

const repo = GitRepo.create();
const folder = new TempFolder("environments");
// The sandboxes of root run as `nobody`.
chmodSync(folder.path, 0o755);
afterAll(() => {
  repo.dispose();
  folder.dispose();
});
repo.importCommits([
  {
    branch: "main",
    files: [
      ["package.json", "{}\n"],
      ["a.js", "1;\n"],
    ],
  },
  { branch: "code", parents: ["main"], files: [["b.js", "2;\n"]] },
  { branch: "packages", parents: ["main"], files: [["package.json", '{ "name": "x" }\n']] },
]);

const preparing = (prepare: string | null): RepoConfig => ({
  ...defaultRepoConfig,
  prove: { ...defaultRepoConfig.prove, enabled: true, prepare },
});

async function find(
  branch: string,
  config: RepoConfig,
  {
    searchPath = process.env.PATH ?? "",
    ...where
  }: { searchPath?: string; folder?: string; onFault?: (line: string) => void } = {},
) {
  using held = await placeOf(repo, repo.git("rev-parse", "main"), branch);
  const findSandbox = createCommandSandbox({
    ...{ searchPath, readable: [], hidden: [], memoryMb: 512, warn: () => {} },
  });
  const found = createFindTestPlace({ findSandbox, folder: folder.path, registries: [], ...where });
  return await found({ place: held.place, repository: "octo/shop", config }, noSignal);
}

describe("the place where tests of proofs run", () => {
  it("Tests of proofs run nowhere on a machine without a sandbox", async () => {
    expect(await find("code", preparing(null), { searchPath: "/nowhere" })).toEqual({
      why: "this machine has no sandbox",
    });
  });

  it.skipIf(!sandbox)(
    `Tests of proofs run in the sandbox alone if nothing is prepared${skipped}`,
    async () => {
      expect(await find("packages", preparing(null))).toEqual({
        ...{ sandbox: { sandbox: expect.anything(), memoryMb: 512 }, environment: null },
      });
    },
  );

  it.skipIf(!sandbox)(
    `Tests of proofs run nowhere if the change brings other dependencies${skipped}`,
    async () => {
      expect(await find("packages", preparing("npm ci"))).toEqual({
        why: "dependencies changed (package.json)",
      });
    },
  );

  it.skipIf(!sandbox)(
    `Tests of proofs find what the command made of the merge base's files${skipped}`,
    async () => {
      const found = await find("code", preparing("mkdir made && cp a.js made/of-base.js"));
      if (!("environment" in found) || found.environment === null) throw new Error(JSON.stringify(found));
      expect(readFileSync(join(found.environment, "made/of-base.js"), "utf8")).toBe("1;\n");
    },
  );

  it.skipIf(!sandbox)(`A public reason names no folder of the machine${skipped}`, async () => {
    const file = join(folder.path, "file");
    writeFileSync(file, "");
    const faults: string[] = [];
    const onFault = (line: string) => void faults.push(line);
    expect(await find("code", preparing("true"), { folder: join(file, "below"), onFault })).toEqual({
      why: "the environment cannot be prepared on the machine that runs Hunkwise; its log says why",
    });
    expect(faults).toEqual([expect.stringContaining(file)]);
  });

  it.skipIf(!sandbox)(
    `Tests of proofs run nowhere if the command fails, and its last line says why${skipped}`,
    async () => {
      expect(await find("code", preparing("echo no network; exit 3"))).toEqual({
        why: expect.stringMatching(/ended with 3: no network/),
      });
    },
  );
});
