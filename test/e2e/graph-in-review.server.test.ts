import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startApp } from "../support/app-under-test.ts";
import { finish, patient, turn } from "./conformance-fixture.ts";

/** Whether the server's only mirror has an index. */
function indexIn(dataFolder: string): boolean {
  const names = readdirSync(join(dataFolder, "mirrors"), { recursive: true, encoding: "utf8" });
  const index = names.find((name) => name.endsWith("hunkwise-graph/index.db"));
  return index !== undefined && existsSync(join(dataFolder, "mirrors", index));
}

const price = "export function price(cents: number) {\n  return cents;\n}\n";
const base = {
  "src/price.ts": price,
  "src/bill.ts": 'import { price as cost } from "./price.ts";\n\nexport const bill = () => cost(3);\n',
};

it("A later push is reviewed with the graph of the base, which no review writes to", patient, async () => {
  await using app = await startApp({
    ...{ base, head: { "src/price.ts": price.replace("cents;", "cents * 2;") } },
    script: ({ tools, messages }) => {
      const isOffered = JSON.stringify(tools).includes("graph_rag_query");
      const isAnswered = messages.at(-1)?.role === "tool";
      const question = { name: "graph_rag_query", arguments: { query: "who calls price?" } };
      return turn(isOffered && !isAnswered ? question : finish);
    },
    env: { HUNKWISE_GRAPH: "on" },
  });
  await app.send("opened");
  await app.concluded();
  expect(JSON.stringify(app.reviewRequests[0]?.body.tools)).not.toContain("graph_rag_query");
  await expect.poll(() => app.server.log(), { timeout: 250_000 }).toContain("Index updated");
  expect(indexIn(app.dataFolder)).toBe(true);

  app.people.push(app.pull, { "src/price.ts": price.replace("cents;", "cents * 3;") });
  await app.send("synchronize");
  await app.concluded();
  const [, first, second] = app.reviewRequests.map(({ body }) => JSON.stringify(body));
  expect(first).toContain("graph_rag_query");
  expect(first).toContain("=> cost(3);");
  expect(second).toContain("called by bill at src/bill.ts:3");
});
