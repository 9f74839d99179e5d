import { expect, it } from "vitest";
import { loadSources } from "../../src/cli/render-result.ts";
import { openWorkspace } from "../../src/repo/git/object-workspace.ts";
import { sampleFinding } from "../report/sample-result.ts";
import { placeOf } from "../support/checkout-place.ts";
import { GitRepo } from "../support/git-repo.ts";
import { writeOut } from "../support/secret-corpus.ts";
import { seeded } from "../support/seeded.ts";

it("The code around a finding shows no line of a key, and its other lines keep their numbers", async () => {
  const key = writeOut("{pem:RSA PRIVATE KEY:700}", seeded(2));
  const text = `const key = \`${key}\`;\nopen(key);\n`;
  using repo = GitRepo.create();
  repo.commit("before", { "a.js": "open();\n" });
  repo.git("tag", "base");
  repo.commit("after", { "a.js": text });
  using placed = await placeOf(repo, "base");
  await using workspace = openWorkspace(placed.place);

  const source = await loadSources(workspace, [sampleFinding({ path: "a.js", line: 5 })]);
  const lines = source("a.js", "RIGHT") ?? [];
  const written = text.trimEnd().split("\n");
  expect(lines).toHaveLength(written.length);
  expect(lines.at(-1)).toBe("open(key);");
  for (const line of written.filter((one) => /^[\w+/=]{16,}$/.test(one))) expect(lines).not.toContain(line);
});
