import type { NoteEntry } from "../agent/trajectory.ts";
import { redactText } from "../secrets/redact.ts";
import type { LogseqVault } from "./logseq-vault.ts";

export interface JournalOptions {
  /** What the run is about, for people: "octo/shop#12". Repositories and branches are named by whoever likes. */
  about: string;
  /** Notes that earlier attempts of the run left: none is written twice. */
  earlier: readonly NoteEntry[];
  /** Puts a note on the run's record. Resolves when it is there. */
  record(note: NoteEntry): Promise<void>;
  /** Null for the record alone. */
  vault: LogseqVault | null;
  /** Told why a note did not get into the vault. */
  warn(text: string): void;
}

/** As `tools/tool.ts` has it. */
export interface Journal {
  log(page: string, content: string): Promise<string>;
}

/**
 * Takes the notes of a run: onto its record, and onto a page of a vault where there is one. A model wrote them, so that secrets are
 * taken out first; a vault that cannot be written to costs nobody the review.
 */
export function createJournal({ about, earlier, record, vault, warn }: JournalOptions): Journal {
  return {
    async log(rawPage, rawContent) {
      const [page, content] = [await redactText(rawPage), await redactText(rawContent)];
      const known = earlier.find((note) => note.page === page && note.content === content);
      if (known) return known.answer;
      const answer = await written(page, content);
      await record({ kind: "note", page, content, answer });
      return answer;
    },
  };

  async function written(page: string, content: string): Promise<string> {
    if (!vault) return "The note is on the run's record.";
    const problem = await vault.append(page, about, content);
    if (problem === null) return `The note is on the run's record and on the Logseq page '${page}'.`;
    warn(`A note did not get onto the Logseq page '${page}': ${problem}`);
    return "The note is on the run's record; the Logseq page could not be written.";
  }
}

/** Answers as on record, and leaves nothing anywhere. */
export function playedJournal(notes: readonly NoteEntry[]): Journal {
  return {
    log: async (page, content) =>
      notes.find((note) => note.page === page && note.content === content)?.answer ??
      "The note is not on record.",
  };
}
