import { constants } from "node:fs";
import { type FileHandle, mkdir, open, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { NoteEntry } from "../agent/trajectory.ts";
import { errorLine } from "../errors.ts";
import { redactText } from "../secrets/redact.ts";
import { escapeInvisible } from "../text/escape-invisible.ts";
import { inlineCode } from "../text/fence.ts";

/** A Logseq graph: a folder with a Markdown file for each page. https://docs.logseq.com */
export interface LogseqVault {
  /** Adds a block to a page, which is made where there is none. Resolves to why that was not possible, null where it was. */
  append(page: string, about: string, content: string): Promise<string | null>;
}

/** Most file systems take 255 bytes, and the name gets an ending. */
const MAX_NAME_BYTES = 240;
const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants;

/** One block after the other: half a block of our own would pass for a line that nobody has ended. */
let line: Promise<unknown> = Promise.resolve();

export function openLogseqVault(folder: string, now: () => Date = () => new Date()): LogseqVault {
  return {
    append(page, about, content) {
      const added = line.then(() => addTo(folder, page, blockOf(about, content, now())));
      line = added.catch(() => {});
      return added.then(() => null, errorLine);
    },
  };
}

async function addTo(folder: string, page: string, block: string): Promise<void> {
  const name = pageFile(page, await isTripleLowbar(folder));
  const pages = join(folder, "pages");
  await mkdir(pages, { recursive: true });
  // A link in a page's place could lead anywhere, and a pipe keep us for ever.
  const flags = O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_RDWR;
  await using file = await open(join(pages, name), flags, 0o644);
  await appendBlock(file, block);
}

/** In one write at the end of the file, so that others who append at the same time come before or behind the whole of it. */
async function appendBlock(file: FileHandle, block: string): Promise<void> {
  const stat = await file.stat();
  if (!stat.isFile()) throw new Error("its file is none");
  const { bytesRead, buffer } = await file.read({
    buffer: Buffer.alloc(1),
    position: Math.max(0, stat.size - 1),
  });
  const isOpenLine = bytesRead === 1 && buffer[0] !== 0x0a;
  await file.writeFile(`${isOpenLine ? "\n" : ""}${block}`);
  await file.sync();
}

/**
 * One block of Logseq's outline. What it says stands in a code block, where nothing is a link, a query, a property or a picture: the
 * text is of a model that has read what others wrote. A fence inside would end it, however long ours is.
 */
export function blockOf(about: string, content: string, at: Date): string {
  const time = `${at.toISOString().slice(0, 16).replace("T", " ")} UTC`;
  const lines = escapeInvisible(content)
    .replaceAll(/`{3,}|~{3,}/g, "'''")
    .split("\n");
  const inside = ["```text", ...lines, "```"].map((line) => `  ${line}`.trimEnd());
  return [`- Hunkwise, ${inlineCode(escapeInvisible(about))}, ${time}`, ...inside, ""].join("\n");
}

/** How newer graphs name files of pages; older ones say nothing. */
async function isTripleLowbar(folder: string): Promise<boolean> {
  const config = await readFile(join(folder, "logseq", "config.edn"), "utf8").catch(() => ":triple-lowbar");
  return /^[^;\n]*:triple-lowbar/m.test(config);
}

const windowsDevices = /^(?:con|prn|aux|nul|com\d|lpt\d)$/i;

/** The name of a page's file: one file of one folder, whatever the page is called. */
export function pageFile(page: string, tripleLowbar: boolean): string {
  const name = page.normalize("NFC").trim();
  const escaped = name
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}<>:"|?*\\%#]|^\.|\.$|___/gu, percent)
    .replaceAll("/", tripleLowbar ? "___" : "%2F");
  const body = windowsDevices.test(escaped) ? `${percent(escaped.slice(0, 1))}${escaped.slice(1)}` : escaped;
  if (body === "" || Buffer.byteLength(body) > MAX_NAME_BYTES) throw new Error("no page can have this name");
  return `${body}.md`;
}

const percent = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");

interface JournalOptions {
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
interface Journal {
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
