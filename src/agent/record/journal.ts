import { constants } from "node:fs";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { errorLine } from "../../core/errors.ts";
import { redactText } from "../../core/secrets/redact.ts";
import { escapeInvisible } from "../../core/text/escape-invisible.ts";
import { inlineCode } from "../../core/text/fence.ts";
import type { NoteEntry } from "./trajectory.ts";

/** A Logseq graph: a folder with a Markdown file for each page. https://docs.logseq.com */
export interface LogseqVault {
  /** Adds a block to a page, which is created if missing. Resolves to the reason if that failed, else to null. */
  append(page: string, about: string, content: string): Promise<string | null>;
}

/** Most file systems take 255 bytes, including the extension. */
const MAX_NAME_BYTES = 240;
const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants;

/** The last write. Blocks are written one after the other, because each checks whether the last line is complete. */
let lastWrite: Promise<unknown> = Promise.resolve();

export function openLogseqVault(folder: string, now: () => Date = () => new Date()): LogseqVault {
  return {
    append(page, about, content) {
      const added = lastWrite.then(() => addTo(folder, page, blockOf(about, content, now())));
      lastWrite = added.catch(() => {});
      return added.then(() => null, errorLine);
    },
  };
}

async function addTo(folder: string, page: string, block: string): Promise<void> {
  const name = pageFile(page);
  const pages = join(folder, "pages");
  await mkdir(pages, { recursive: true });
  // A link instead of a page could lead anywhere, and a pipe would block forever.
  const flags = O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_RDWR;
  await using file = await open(join(pages, name), flags, 0o644);
  await appendBlock(file, block);
}

/** Appends in one write, so that a block of another process comes before or after it, not within. */
async function appendBlock(file: FileHandle, block: string): Promise<void> {
  const stat = await file.stat();
  if (!stat.isFile()) throw new Error("it is not a regular file");
  const { bytesRead, buffer } = await file.read({
    buffer: Buffer.alloc(1),
    position: Math.max(0, stat.size - 1),
  });
  const isOpenLine = bytesRead === 1 && buffer[0] !== 0x0a;
  await file.writeFile(`${isOpenLine ? "\n" : ""}${block}`);
  await file.sync();
}

/** One block of a Logseq outline, as a code block: a model has read hostile input. Logseq ends it at any fence, so fences inside are replaced. */
export function blockOf(about: string, content: string, at: Date): string {
  const time = `${at.toISOString().slice(0, 16).replace("T", " ")} UTC`;
  const lines = escapeInvisible(content)
    .replaceAll(/`{3,}|~{3,}/g, "'''")
    .split("\n");
  const inside = ["```text", ...lines, "```"].map((line) => `  ${line}`.trimEnd());
  return [`- Hunkwise, ${inlineCode(escapeInvisible(about))}, ${time}`, ...inside, ""].join("\n");
}

const windowsDevices = /^(?:con|prn|aux|nul|com\d|lpt\d)$/i;

/** The file name of a page, in the format of Logseq since 0.8. Whatever the page is called, it stays in its folder. */
export function pageFile(page: string): string {
  const name = page.normalize("NFC").trim();
  const escaped = name
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}<>:"|?*\\%#]|^\.|\.$|___|_(?=\/)|(?<=\/)_/gu, percent)
    .replaceAll("/", "___");
  const body = windowsDevices.test(escaped) ? `${percent(escaped.slice(0, 1))}${escaped.slice(1)}` : escaped;
  if (body === "" || Buffer.byteLength(body) > MAX_NAME_BYTES)
    throw new Error("this is not a valid page name");
  return `${body}.md`;
}

const percent = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");

interface JournalOptions {
  /** What the run is about, for people: "octo/shop#12". Hostile: strangers name repositories and branches. */
  about: string;
  /** Notes of earlier attempts of the run. None is written twice. */
  earlier: readonly NoteEntry[];
  /** Adds a note to the run's record. Resolves when it is stored. */
  record(note: NoteEntry): Promise<void>;
  /** Null to use the record only. */
  vault: LogseqVault | null;
  warn(text: string): void;
}

/** Adds notes, without secrets, to a run's record and to a page of a vault. A vault that cannot be written does not end the review. */
export function createJournal({ about, earlier, record, vault, warn }: JournalOptions) {
  return {
    async log(rawPage: string, rawContent: string): Promise<string> {
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
    warn(`A note could not be written to the Logseq page '${page}': ${problem}`);
    return "The note is on the run's record; the Logseq page could not be written.";
  }
}
