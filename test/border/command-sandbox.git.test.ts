import { describe, expect, it } from "vitest";
import { fixCommands } from "../../src/border/child-tasks.ts";
import { CommandSandbox } from "../../src/border/messages.ts";
import { createCommandSandbox } from "../../src/border/test-place.ts";
import { defaultRepoConfig, type RepoConfig } from "../../src/config/repo-config.ts";
import { noSignal, sandboxFor } from "../sandbox/sandbox.ts";

const { sandbox, skipped } = await sandboxFor("that a server keeps the sandbox that it found");

const naming: RepoConfig = {
  ...defaultRepoConfig,
  commands: { test: "npm test", lint: null, build: null },
};

function finder(searchPath = process.env.PATH ?? "") {
  const said: string[] = [];
  const find = createCommandSandbox({
    ...{ searchPath, readable: [], hidden: [], memoryMb: 512 },
    warn: (why, remedy) => said.push(`${why}: ${remedy}`),
  });
  return { find: (config: RepoConfig) => find(config, noSignal), said };
}

describe("the sandbox for the commands of a fix", () => {
  it("The sandbox is not searched for if no command is configured", async () => {
    const { find, said } = finder("/nowhere");
    expect([await find(defaultRepoConfig), said]).toEqual([null, []]);
  });

  it("The sandbox of a fix is null if the machine has none, with a warning each time", async () => {
    const { find, said } = finder("/nowhere");
    expect([await find(naming), await find(naming)]).toEqual([null, null]);
    expect(said).toEqual(
      Array(2).fill(expect.stringContaining("bubblewrap (bwrap) is not on PATH: Install")),
    );
  });

  it.skipIf(!sandbox)(
    `The sandbox of a fix is found once, and goes to another process as it is${skipped}`,
    async () => {
      const { find, said } = finder();
      const found = await find(naming);
      expect(await find(naming)).toBe(found);
      expect(CommandSandbox.parse(JSON.parse(JSON.stringify(found)))).toEqual(found);
      expect([found?.memoryMb, said]).toEqual([512, []]);
    },
  );
});

describe("the commands of a fix", () => {
  const files = { workspace: { tree: async () => new Map(), readBlob: async () => ({}) as never } };
  const of = (config: RepoConfig) => fixCommands({ config }, null, { ...files, isPrivate: () => false });

  it("The commands of a fix are a reason in words if none is named or none can run", () => {
    expect(of(defaultRepoConfig)).toEqual({ why: "the configuration of the base branch names no commands" });
    expect(of(naming)).toEqual({ why: "this machine has no sandbox" });
  });
});
