import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import packageJson from "../package.json" with { type: "json" };
import { repositoryOf, textsOf, withOwner } from "../scripts/repository.ts";
import { nestedNames, rootPaths } from "../src/config/repo-config.ts";

const root = join(import.meta.dirname, "..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

describe("what registries get", () => {
  const { version } = packageJson;

  it("server.json keeps the limits of the MCP Registry, and the package claims its name and version", () => {
    const server = JSON.parse(read("server.json"));
    expect(server).toMatchObject({
      name: packageJson.mcpName,
      version,
      packages: [{ identifier: "hunkwise", version }],
    });
    expect(server.description.length).toBeLessThanOrEqual(100);
  });

  it("SchemaStore's entries name each file of our configuration once and lead to its schema", () => {
    const entries: { fileMatch: string[]; url: string }[] = JSON.parse(
      read("scripts/release/schemastore-entry.json"),
    );
    expect(entries.map(({ fileMatch, url }) => [fileMatch, url.replace(/^.*\/main\//, "")])).toEqual([
      [rootPaths.map((path) => `**/${path}`), "docs/hunkwise.schema.json"],
      [nestedNames, "docs/hunkwise.nested.schema.json"],
    ]);
  });

  it("The hooks of pre-commit run what `hunkwise hook install` writes", () => {
    const hooks: { entry: string; stages: string[] }[] = parse(read(".pre-commit-hooks.yaml"));
    expect(hooks.map((one) => [one.entry, one.stages])).toEqual(
      ["pre-commit", "pre-push"].map((name) => [`hunkwise hook run ${name}`, [name]]),
    );
  });
});

describe("the owner of the repository", () => {
  const octoOrg = { owner: "Octo-Org", page: "https://github.com/Octo-Org/hunkwise" };
  const nobody = { owner: "OWNER", page: "https://github.com/OWNER/hunkwise" };

  it("The owner comes from package.json, which must name a repository `hunkwise` on GitHub", () => {
    expect(repositoryOf({ repository: { url: "git+https://github.com/Octo-Org/hunkwise.git" } })).toEqual(
      octoOrg,
    );
    for (const url of ["https://github.com/Octo-Org/hunkwise", "git+https://github.com/Octo-Org/other.git"])
      expect(() => repositoryOf({ repository: { url } })).toThrow("in package.json is not git+https");
  });

  it.each([
    ["git clone https://github.com/OWNER/hunkwise && cd hunkwise", "https://github.com/Octo-Org/hunkwise &&"],
    ["https://raw.githubusercontent.com/OWNER/hunkwise/main/a", "com/Octo-Org/hunkwise/main/a"],
    ["https://github.com/old-owner/hunkwise/issues", "com/Octo-Org/hunkwise/issues"],
    ["  - uses: OWNER/hunkwise@COMMIT", "uses: Octo-Org/hunkwise@COMMIT"],
    ["repository: OWNER/hunkwise # a copy", "repository: Octo-Org/hunkwise #"],
    ["cosign verify ghcr.io/OWNER/hunkwise:1.2.3", "ghcr.io/octo-org/hunkwise:1.2.3"],
    ["io.github.OWNER/hunkwise", "io.github.Octo-Org/hunkwise"],
    ["gh api repos/OWNER/hunkwise/rulesets", "repos/Octo-Org/hunkwise/rulesets"],
    ["* @OWNER", "* @Octo-Org"],
  ])("`%s` becomes `%s`, and back", (text, wanted) => {
    const done = withOwner(text, octoOrg, "OWNER");
    expect(done).toContain(wanted);
    expect(withOwner(done, nobody, "Octo-Org")).toBe(text.replace("old-owner", "OWNER"));
  });

  it.each([
    "~/OWNER-less/hunkwise",
    ".github/hunkwise.yml",
    "share/hunkwise",
    "HUNKWISE_OWNER=1",
    "@alice/hunkwise",
  ])("`%s` stays as it is", (text) => expect(withOwner(text, octoOrg, "OWNER")).toBe(text));

  it("With another owner in package.json no text names the old one, and a second change restores every file", () => {
    const now = repositoryOf(packageJson);
    const isNamed = (owner: string) =>
      new RegExp(`(?<![\\w.-])${owner}/hunkwise\\b|io\\.github\\.${owner}|\\s@${owner}\\b`);
    for (const path of textsOf(root)) {
      const text = read(path);
      const moved = withOwner(text, octoOrg, now.owner);
      expect([path, isNamed(now.owner).exec(moved)]).toEqual([path, null]);
      expect([path, withOwner(moved, now, "Octo-Org") === text]).toEqual([path, true]);
    }
    const code = globSync("{src,scripts,rules}/**/*.{ts,yml,md}", { cwd: root });
    const own = ["scripts/repository.ts"];
    expect(code.filter((path) => isNamed(now.owner).test(read(path)) && !own.includes(path))).toEqual([]);
  });
});
