import { describe, expect, it } from "vitest";
import { createJournal } from "../../../src/agent/record/journal.ts";
import type { NoteEntry } from "../../../src/agent/record/trajectory.ts";

interface Wrote {
  page: string;
  about: string;
  content: string;
}

function open(options: { earlier?: NoteEntry[]; problem?: string; hasVault?: boolean } = {}) {
  const { earlier = [], problem = null, hasVault = true } = options;
  const [notes, blocks, warned]: [NoteEntry[], Wrote[], string[]] = [[], [], []];
  const vault = {
    async append(page: string, about: string, content: string) {
      blocks.push({ page, about, content });
      return problem;
    },
  };
  const journal = createJournal({
    ...{ about: "octo/shop#12", earlier, vault: hasVault ? vault : null },
    record: async (note) => void notes.push(note),
    warn: (text) => void warned.push(text),
  });
  return { journal, notes, blocks, warned };
}

describe("a journal", () => {
  it("A journal adds a note to the run's record, and to its page if there is a vault", async () => {
    const { journal, notes, blocks } = open();
    const answer = await journal.log("log", "Read it all.");
    expect(answer).toBe("The note is on the run's record and on the Logseq page 'log'.");
    expect(blocks).toEqual([{ page: "log", about: "octo/shop#12", content: "Read it all." }]);
    expect(notes).toEqual([{ kind: "note", page: "log", content: "Read it all.", answer }]);
    const alone = open({ hasVault: false });
    expect(await alone.journal.log("log", "Read it all.")).toBe("The note is on the run's record.");
    expect(alone.notes).toHaveLength(1);
  });

  it("A journal redacts secrets, also in the name of the page", async () => {
    const { journal, notes, blocks } = open();
    const token = `ghp_${"aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gH3j".repeat(2).slice(0, 36)}`;
    await journal.log(`page ${token}`, `Found ${token} in a.ts.`);
    expect(JSON.stringify([notes, blocks])).not.toContain(token);
    expect(notes[0]?.content).toMatch(/^Found .* in a\.ts\.$/);
  });

  it("A journal keeps the note if the vault cannot be written, and tells the operator why", async () => {
    const { journal, notes, warned } = open({ problem: "EACCES: permission denied, open '/vault/x'" });
    const answer = await journal.log("log", "x");
    expect(answer).toBe("The note is on the run's record; the Logseq page could not be written.");
    expect(notes).toHaveLength(1);
    expect(warned).toEqual([
      "A note could not be written to the Logseq page 'log': EACCES: permission denied, open '/vault/x'",
    ]);
  });

  it("A journal writes nothing twice that an earlier attempt wrote, and answers the same", async () => {
    const first = open();
    const answer = await first.journal.log("log", "x");
    const { journal, notes, blocks } = open({ earlier: first.notes });
    expect(await journal.log("log", "x")).toBe(answer);
    expect([notes, blocks]).toEqual([[], []]);
    await journal.log("log", "y");
    expect([notes.length, blocks.length]).toEqual([1, 1]);
  });
});
