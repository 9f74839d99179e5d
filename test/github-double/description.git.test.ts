import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { clientOf } from "../support/github-double/client.ts";
import { createScenario, type Scenario } from "../support/github-double/scenario.ts";

const file = join(import.meta.dirname, "../../fixtures/openapi/github.json");
const { operations } = JSON.parse(readFileSync(file, "utf8")) as {
  operations: { method: string; path: string }[];
};

let scenario: Scenario;
let call: ReturnType<typeof clientOf>;
beforeEach(async () => {
  scenario = await createScenario({ base: { "a.txt": "a\n" }, head: { "a.txt": "b\n" } });
  call = clientOf(scenario.github, scenario.installation);
});
afterEach(() => scenario.github.close());

const root = "/repos/octo-org/shop";
const comment = { path: "a.txt", line: 1, side: "RIGHT", body: "Look." };
const kinds = () => scenario.github.violations.map((one) => one.kind);

it("GitHub's double answers every endpoint of the cut description, below /api/v3 and without it", async () => {
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

it.each([
  [`POST ${root}/pulls/1/reviews`, { event: "PRAISE", body: "x" }],
  [`POST ${root}/pulls/1/reviews`, { event: "COMMENT", comments: [{ ...comment, subject_type: "file" }] }],
  [`POST ${root}/pulls/1/comments`, { ...comment }],
  [`POST ${root}/issues/1/comments`, {}],
  [
    `POST ${root}/check-runs`,
    { name: "x", head_sha: "HEAD", output: { title: "x", summary: "x".repeat(65_536) } },
  ],
  [`POST ${root}/issues/comments/1/reactions`, { content: "thumbs" }],
])("GitHub's double refuses a body that the description does not allow: %s, %#", async (endpoint, body) => {
  const answer = await call(endpoint, body);
  expect(answer.status).toBe(422);
  expect(answer.body.message).toMatch(/^Invalid request\./);
  expect(kinds()).toEqual(["description"]);
});

it("GitHub's double records unknown parameters, broken JSON and unknown endpoints as violations", async () => {
  expect((await call(`GET ${root}/pulls?perPage=100`)).status).toBe(200);
  expect((await call(`POST ${root}/issues/1/comments`, "{")).status).toBe(400);
  expect((await call(`PUT ${root}/pulls/1/merge`, {})).status).toBe(501);
  expect(kinds()).toEqual(["description", "refused", "not-simulated"]);
  expect(scenario.github.violations[0]?.problems).toEqual(['"perPage" is not a permitted key.']);
});
