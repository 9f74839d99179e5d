import { Lru } from "../diff/lru.ts";
import { AppError } from "../errors.ts";
import { blobHunks, type Sides, submoduleHunk } from "./blob-diff.ts";
import { PATCH_CONTEXT, streamChange } from "./change-stream.ts";
import type { CheckoutPlace } from "./checkout-place.ts";
import { decodeText } from "./decode.ts";
import { parseChanges } from "./parse-changes.ts";
import { decodeHeader } from "./patch-header.ts";
import { type PatchSink, PatchSplitter } from "./patch-splitter.ts";
import type { Change } from "./workspace.ts";

/** How many bytes of hunks are kept from the one pass over the whole patch. */
const KEPT_BYTES = 32 * 1024 * 1024;
const SUBMODULE_MODE = "160000";

interface Section {
  header: Buffer;
  /** Null when it did not fit. */
  body: Buffer | null;
}

/** The change's patches. One git process prints all of them; other widths of context come file by file. */
export class Patches {
  readonly #place: CheckoutPlace;
  readonly #keptBytes: number;
  readonly #bodies: Lru<Buffer>;
  readonly #disposed = new AbortController();
  #changes: Promise<readonly Change[]> | undefined;
  #sections: Promise<Map<string, Section[]>> | undefined;

  constructor(place: CheckoutPlace, keptBytes = KEPT_BYTES) {
    this.#place = place;
    this.#keptBytes = keptBytes;
    this.#bodies = new Lru(keptBytes);
  }

  /** What changed, in git's order. There before the patches are. */
  changes(): Promise<readonly Change[]> {
    if (this.#changes === undefined) this.#start();
    return this.#changes as Promise<readonly Change[]>;
  }

  /** The file's patch as git prints it. A change of type has two sections: the old file goes, the new one comes. */
  async patch(change: Change, contextLines: number): Promise<string> {
    const sections = (await this.#allSections()).get(change.path);
    if (!sections) throw new AppError("git_failed", `There is no patch of '${change.path}'`);
    let patch = "";
    for (const section of sections) {
      const body = await this.#body(change, section, contextLines);
      patch += decodeHeader(section.header, change) + decodeText(body).text;
    }
    return patch;
  }

  async #body(change: Change, section: Section, contextLines: number): Promise<Buffer> {
    const sides = sidesOf(change, section);
    // Where a whole file comes or goes there are no unchanged lines to show, and a submodule has one line.
    const sameWidth = contextLines === PATCH_CONTEXT || !sides.from || !sides.to || sides.submodule;
    if (sameWidth && section.body !== null) return section.body;
    // A section that printed no hunks has none at any width: binary, mode alone, a pure rename.
    if (section.body?.length === 0) return section.body;
    if (sides.submodule) return submoduleHunk(sides);
    const width = sameWidth ? PATCH_CONTEXT : contextLines;
    const key = `${sides.from} ${sides.to} ${width}`;
    const known = this.#bodies.get(key);
    if (known) return known;
    const body = await blobHunks(this.#place, sides, width);
    this.#bodies.set(key, body, body.length);
    return body;
  }

  #allSections(): Promise<Map<string, Section[]>> {
    if (this.#sections === undefined) this.#start();
    return this.#sections as Promise<Map<string, Section[]>>;
  }

  /** Reads everything in one go. What fails is forgotten: what timed out may be asked for again. */
  #start(): void {
    const listed = Promise.withResolvers<readonly Change[]>();
    this.#changes ??= listed.promise;
    this.#sections = this.#readAll(listed.resolve);
    listed.promise.catch(() => {
      if (this.#changes === listed.promise) this.#changes = undefined;
    });
    this.#sections.catch((error: unknown) => {
      listed.reject(error);
      this.#sections = undefined;
    });
  }

  async #readAll(onListed: (changes: readonly Change[]) => void): Promise<Map<string, Section[]>> {
    let changes: readonly Change[] = [];
    const sections = new SectionCollector(this.#keptBytes);
    const splitter = new PatchSplitter(sections);
    const sink = {
      listing: (bytes: Buffer) => {
        changes = parseChanges(bytes);
        onListed(changes);
      },
      patch: (chunk: Buffer) => splitter.push(chunk),
    };
    await streamChange(this.#place, sink, this.#disposed.signal);
    splitter.end();
    return assign(changes, sections.end());
  }

  /** Ends a process that is still printing patches nobody will ask for. */
  [Symbol.dispose](): void {
    this.#disposed.abort();
  }
}

/** Keeps as many bytes of hunks as it may, and of each section its header. */
class SectionCollector implements PatchSink {
  readonly #sections: Section[] = [];
  readonly #keptBytes: number;
  #open: Buffer[] = [];
  #kept = 0;

  constructor(keptBytes: number) {
    this.#keptBytes = keptBytes;
  }

  header(header: Buffer): void {
    this.#close();
    this.#sections.push({ header, body: Buffer.alloc(0) });
  }

  body(bytes: Buffer): void {
    const last = this.#sections.at(-1);
    if (!last?.body) return;
    this.#kept += bytes.length;
    if (this.#kept <= this.#keptBytes) {
      // A copy: what git prints comes in large pieces, of which this one would keep the whole.
      this.#open.push(Buffer.from(bytes));
      return;
    }
    this.#kept -= bytes.length + this.#open.reduce((sum, one) => sum + one.length, 0);
    this.#open = [];
    last.body = null;
  }

  end(): Section[] {
    this.#close();
    return this.#sections;
  }

  #close(): void {
    const last = this.#sections.at(-1);
    if (last?.body) last.body = Buffer.concat(this.#open);
    this.#open = [];
  }
}

/** Sections come in the order of the raw records, two for a change of type. */
function assign(changes: readonly Change[], sections: Section[]): Map<string, Section[]> {
  const byPath = new Map<string, Section[]>();
  let at = 0;
  for (const change of changes) {
    const count = change.type === "type_changed" ? 2 : 1;
    byPath.set(change.path, sections.slice(at, at + count));
    at += count;
  }
  if (at !== sections.length) {
    throw new AppError("git_failed", `git printed ${sections.length} patches for ${changes.length} changes`);
  }
  return byPath;
}

function sidesOf(change: Change, section: Section): Sides & { submodule: boolean } {
  const [, whole, wholeMode] =
    /^(new|deleted) file mode (\d{6})$/m.exec(section.header.toString("latin1")) ?? [];
  return {
    from: whole === "new" ? undefined : change.oldOid,
    to: whole === "deleted" ? undefined : change.newOid,
    submodule: (wholeMode ?? change.newMode) === SUBMODULE_MODE,
  };
}
