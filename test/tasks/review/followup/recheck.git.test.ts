import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { codeHash, type PostedFinding } from "../../../../src/core/ledger/entry.ts";
import type { Reviewed } from "../../../../src/core/ledger/state.ts";
import { comment, createRounds, finding, type Head, type Rounds, reports, round } from "./later-round.ts";

let repo: Rounds;
/** All of the first head. */
let reviewed: Reviewed;
beforeAll(async () => {
  repo = createRounds();
  reviewed = (await round(repo, { head: "first" })).ledger.reviewed;
});
afterAll(() => repo?.dispose());

/** What the check of one earlier comment begins with. */
async function shown(head: Head, over: Partial<PostedFinding>, read: Reviewed | null = reviewed) {
  const { asked } = await round(repo, { head, reviewed: read, earlier: [comment(over)] });
  return asked("recheck")[0]?.messages.at(-1)?.content ?? "";
}

/** The line that `total` had before the change. */
const removed = { side: "LEFT", code: codeHash("  for (const price of prices) sum += price;") } as const;

describe("the first messages of a re-check", () => {
  it("The messages hold the current code, and then the comment, each once", async () => {
    const title = "The total subtracts each price instead of adding it";
    const text = await shown("fixed", { text: `**🟠 Medium: ${title}**\n\nIt is negative.` });

    expect(text).toContain("\n3|  for (const price of prices) sum += 1 * price;");
    expect(text).toContain("The code that it was posted on is gone");
    expect(text).toMatch(new RegExp(`>\ncart\\.ts:3 in total\n${title}\n\nIt is negative\\.\n</untrusted`));
    expect(text.split(title)).toHaveLength(2);
  });

  it("The messages name the current line of code that is still there", async () => {
    const text = await shown("beside", {});
    expect(text).toContain("Its code is on line 3 now.");
  });

  it("The messages name the other files in the evidence", async () => {
    const text = await shown("beside", { files: ["other.ts"] });
    expect(text).toMatch(/\n\nCode that supports it: other\.ts\n<\/untrusted/);
  });

  it("The messages hold the code at head for a comment on a removed line", async () => {
    const text = await shown("fixed", removed);
    const code = text.slice(0, text.indexOf("# What the change does"));

    expect(code).toContain("3|  for (const price of prices) sum += 1 * price;");
    expect(code).not.toContain("sum += price");
    expect(text).toContain("The change still removes it; in the old file it is line 3.");
    expect(text).toContain("cart.ts:3 (removed) in total");
  });

  it("The messages say that the change no longer touches the file", async () => {
    const text = await shown("left", { ...removed, line: null, state: "outdated" });
    expect(text).toContain("The change does not touch this file any more.");
    expect(text).toContain("3|  for (const price of prices) sum += price;");
  });

  it("The messages hold the remaining declaration and the changed files if a definition has moved", async () => {
    const text = await shown("apart", { line: null, state: "outdated" });
    expect(text).toContain("1|declare function total");
    expect(text).toMatch(/\ntotal\.ts {2}added\n/);
  });

  it("The messages hold no other file if the definition is still there", async () => {
    const text = await shown("fixed", { line: null, state: "outdated" });
    expect(text).not.toContain("# Changed files");
  });

  it("The messages hold the nearest lines of a shorter file if nothing else is known", async () => {
    const over = { line: null, original_line: 900, symbol: null, state: "outdated" } as const;
    const text = await shown("fixed", over);
    expect(text).toMatch(/^# The lines around the place now\n/);
    expect(text).toContain("\n47|  return prices.length - 1;");
  });

  it("The messages list the changed files if the file is gone", async () => {
    const text = await shown("fixed", { path: "gone.ts", line: null, state: "outdated" }, null);
    expect(text).toContain("Its file does not exist any more");
    expect(text).toMatch(/# Changed files\n<untrusted [^>]+>\ncart\.ts {2}modified\n/);
    expect(text).not.toContain("# The code as it is now");
  });
});

describe("the question of a comparison", () => {
  it("The question holds the title of a comment once, and marks an old line number", async () => {
    const { asked } = await round(repo, {
      head: "first",
      earlier: [
        comment({
          ...{ line: null, state: "outdated" },
          text: "**🟠 Medium: The total subtracts each price instead of adding it**\n\nIt is negative.",
        }),
      ],
      script: { review: () => reports(finding({ title: "Carts go below zero" })) },
    });
    expect(asked("compare")[0]?.messages.at(-1)?.content).toMatch(
      /\n7 cart\.ts \(line 3 when it was posted\) in total \[medium, correctness, outdated\] The total subtracts each price instead of adding it\n {2}It is negative\.\n/,
    );
  });
});
