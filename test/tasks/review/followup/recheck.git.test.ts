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

describe("what the check of a comment is shown", () => {
  it("is the code as it is now, with what was said behind it, each once", async () => {
    const title = "The total subtracts each price instead of adding it";
    const text = await shown("fixed", { text: `**🟠 Medium: ${title}**\n\nIt is negative.` });

    expect(text).toContain("\n3|  for (const price of prices) sum += 1 * price;");
    expect(text).toContain("The code that it stood on is not there any more");
    expect(text).toMatch(new RegExp(`>\ncart\\.ts:3 in total\n${title}\n\nIt is negative\\.\n</untrusted`));
    expect(text.split(title)).toHaveLength(2);
  });

  it("is where the code stands, where it still does", async () => {
    const text = await shown("beside", {});
    expect(text).toContain("Its code stands on line 3 now.");
  });

  it("names the other files that it rests on", async () => {
    const text = await shown("beside", { files: ["other.ts"] });
    expect(text).toMatch(/\n\nIt rests on: other\.ts\n<\/untrusted/);
  });

  it("is the code at head also where it is about a line that was removed", async () => {
    const text = await shown("fixed", removed);
    const code = text.slice(0, text.indexOf("# What the change does"));

    expect(code).toContain("3|  for (const price of prices) sum += 1 * price;");
    expect(code).not.toContain("sum += price");
    expect(text).toContain("The change still removes it; in the old file it is line 3.");
    expect(text).toContain("cart.ts:3 (removed) in total");
  });

  it("is that the change leaves the file alone, where it does", async () => {
    const text = await shown("left", { ...removed, line: null, state: "outdated" });
    expect(text).toContain("The change leaves this file alone now.");
    expect(text).toContain("3|  for (const price of prices) sum += price;");
  });

  it("is the declaration that is left, and which files were changed, where the definition has moved", async () => {
    const text = await shown("apart", { line: null, state: "outdated" });
    expect(text).toContain("1|declare function total");
    expect(text).toMatch(/\ntotal\.ts {2}added\n/);
  });

  it("is no other file where the definition is still there", async () => {
    const text = await shown("fixed", { line: null, state: "outdated" });
    expect(text).not.toContain("# Changed files");
  });

  it("is the nearest lines where nothing says what it was about, and the file was longer then", async () => {
    const over = { line: null, original_line: 900, symbol: null, state: "outdated" } as const;
    const text = await shown("fixed", over);
    expect(text).toMatch(/^# The lines around the place now\n/);
    expect(text).toContain("\n47|  return prices.length - 1;");
  });

  it("is what else was changed where the file is not there any more", async () => {
    const text = await shown("fixed", { path: "gone.ts", line: null, state: "outdated" }, null);
    expect(text).toContain("Its file is not there any more");
    expect(text).toMatch(/# Changed files\n<untrusted [^>]+>\ncart\.ts {2}modified\n/);
    expect(text).not.toContain("# The code as it is now");
  });
});

describe("what a comparison is shown of a comment", () => {
  it("is its title once, and that its line is that of the time when it was posted", async () => {
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
