import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createScenario, type Scenario } from "../support/github-double/scenario.ts";

const file = join(import.meta.dirname, "../../fixtures/openapi/github.json");
const { operations } = JSON.parse(readFileSync(file, "utf8")) as {
  operations: { method: string; path: string }[];
};

let scenario: Scenario;
beforeAll(async () => {
  scenario = await createScenario({ base: { "a.txt": "a\n" }, head: { "a.txt": "b\n" } });
});
afterAll(() => scenario.github.close());

it("answers every endpoint that is described, below /api/v3 and without it", async () => {
  const paths = operations.map(({ method, path }) => [method, path.replace(/\{\w+\}/g, "1")] as const);
  expect(paths.length).toBeGreaterThan(25);
  for (const root of [scenario.github.url, scenario.github.apiUrl]) {
    const answers = await Promise.all(
      paths.map(
        async ([method, path]) => [method, path, (await fetch(root + path, { method })).status] as const,
      ),
    );
    expect(answers.filter(([, , status]) => status >= 500)).toEqual([]);
  }
});
