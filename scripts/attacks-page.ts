import { join } from "node:path";
import { allGuards } from "../test/attacks/all-guards.ts";
import type { Guard } from "../test/attacks/guard.ts";
import type { Row } from "../test/attacks/rows/row.ts";
import { rows } from "../test/attacks/rows.ts";

const priorities = ["What blocks a release", "What comes next", "What comes after that"];

/** The body of docs/attacks.md: each attack, what happens, the tests that prove it, and how many guards were taken away before them. */
export async function attacksPage(table: (head: string[], rows: string[][]) => string): Promise<string> {
  const guards = await allGuards();
  const groups = priorities.flatMap((title, priority) => [
    `## ${title}`,
    table(
      ["attack", "what happens", "proven by", "guards"],
      rows.filter((row) => row.priority === priority).map((row) => cells(row, guards)),
    ),
  ]);
  return [
    "# Attacks and faults",
    "What a reviewer that anybody can write to has to withstand. Each row has a test that runs with `npm test`, and guards: places in the code that `npm run test:guards` takes away one at a time, expecting a test to fail. [SECURITY.md](../SECURITY.md) says who is trusted with what.",
    ...groups,
  ].join("\n\n");
}

function cells({ name, attack, expected, provenBy, outOfScope }: Row, guards: readonly Guard[]): string[] {
  const files = [...new Set(provenBy.map(({ file }) => file))];
  const links = files.map((file) => `[${file.replace(/^test\/|\.test\.ts$/g, "")}](${join("..", file)})`);
  const count = guards.filter((guard) => guard.row === name).length;
  return [
    `**${name}**: ${attack}`,
    outOfScope ?? expected,
    links.join(", "),
    outOfScope ? "" : String(count),
  ];
}
