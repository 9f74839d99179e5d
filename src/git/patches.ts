import { LRUCache } from "lru-cache";
import { AppError } from "../errors.ts";
import { decodeText } from "../text/decode.ts";
import { blobHunks, type Sides, submoduleHunk, wholeFileHunk } from "./blob-diff.ts";
import { PATCH_CONTEXT, streamChange } from "./change-stream.ts";
import type { ObjectPlace } from "./checkout-place.ts";
import { parseChanges } from "./parse-changes.ts";
import { decodeHeader } from "./patch-header.ts";
import { defaultPatchLimits, type PatchLimits, type Section, SectionCollector } from "./patch-sections.ts";
import { PatchSplitter } from "./patch-splitter.ts";
import type { Change } from "./workspace.ts";

const SUBMODULE_MODE = "160000";
/** Hunks at other widths, of files that were asked for last. */
const KEPT_BYTES = 32 * 1024 * 1024;

/** The change's patches. One git process prints all of them; other widths of context come file by file. */
export class Patches {
  readonly #place: ObjectPlace;
  readonly #limits: PatchLimits;
  readonly #readBlob: (oid: string) => Promise<Buffer>;
  readonly #bodies: LRUCache<string, Buffer>;
  readonly #disposed = new AbortController();
  #changes: Promise<readonly Change[]> | undefined;
  #sections: Promise<Map<string, Section[] | "unread">> | undefined;

  /** @param readBlob gives a whole blob, more quickly than a git of its own would */
  constructor(
    place: ObjectPlace,
    readBlob: (oid: string) => Promise<Buffer>,
    limits: Partial<PatchLimits> = {},
  ) {
    this.#place = place;
    this.#readBlob = readBlob;
    this.#limits = { ...defaultPatchLimits, ...limits };
    this.#bodies = new LRUCache({ maxSize: Math.max(1, Math.min(KEPT_BYTES, this.#limits.readBytes)) });
  }

  /** What changed, in git's order. There before the patches are. */
  changes(): Promise<readonly Change[]> {
    if (this.#changes === undefined) this.#start();
    return this.#changes as Promise<readonly Change[]>;
  }

  /**
   * The file's patch as git prints it. A change of type has two sections: the old file goes, the new one comes. Rejects with
   * `too_large` for a file behind those that could be read.
   */
  async patch(change: Change, contextLines: number): Promise<string> {
    const sections = (await this.#allSections()).get(change.path);
    if (sections === "unread")
      throw new AppError(
        "too_large",
        `The change is so large that the patch of '${change.path}' was not read`,
      );
    if (!sections) throw new AppError("git_failed", `There is no patch of '${change.path}'`);
    let patch = "";
    for (const section of sections) {
      const body = await this.#body(change, section, contextLines);
      patch += decodeHeader(Buffer.from(section.header, "latin1"), change) + decodeText(body).text;
    }
    return patch;
  }

  async #body(change: Change, section: Section, contextLines: number): Promise<Buffer> {
    const sides = sidesOf(change, section);
    // Where a whole file comes or goes there are no unchanged lines to show, and a submodule has one line.
    const sameWidth = contextLines === PATCH_CONTEXT || !sides.from || !sides.to || sides.submodule;
    // A section that printed no hunks has none at any width: binary, mode alone, a pure rename.
    if (!section.hasHunks) return Buffer.alloc(0);
    const printed = sameWidth ? section.hunks() : undefined;
    if (printed !== undefined) return printed;
    if (sides.submodule) return submoduleHunk(sides);
    const width = sameWidth ? PATCH_CONTEXT : contextLines;
    const key = `${sides.from} ${sides.to} ${width}`;
    const known = this.#bodies.get(key);
    if (known) return known;
    const body = await this.#hunksOf(sides, width);
    this.#bodies.set(key, body, { size: body.length + 1 });
    return body;
  }

  async #hunksOf({ from, to }: Sides, width: number): Promise<Buffer> {
    if (from && to) return await blobHunks(this.#place, { from, to }, width);
    const content = await this.#readBlob(from ?? to ?? "");
    return wholeFileHunk(content, from ? "-" : "+");
  }

  #allSections(): Promise<Map<string, Section[] | "unread">> {
    if (this.#sections === undefined) this.#start();
    return this.#sections as Promise<Map<string, Section[] | "unread">>;
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

  async #readAll(onListed: (changes: readonly Change[]) => void): Promise<Map<string, Section[] | "unread">> {
    let changes: readonly Change[] = [];
    const sections = new SectionCollector(this.#limits);
    const splitter = new PatchSplitter(sections);
    const sink = {
      listing: (bytes: Buffer) => {
        changes = parseChanges(bytes);
        onListed(changes);
      },
      patch: (chunk: Buffer) => {
        splitter.push(chunk);
        return sections.isFull ? ("stop" as const) : undefined;
      },
    };
    const isCut = await streamChange(this.#place, sink, this.#disposed.signal).then(
      () => sections.isFull,
      // What came in time is read.
      (error) => (changes.length > 0 && isTimeout(error)) || Promise.reject(error),
    );
    if (!isCut) splitter.end();
    return assign(changes, sections.end(isCut), isCut);
  }

  /** Ends a process that is still printing patches nobody will ask for. */
  [Symbol.dispose](): void {
    this.#disposed.abort();
  }
}

const isTimeout = (error: unknown) => error instanceof AppError && error.code === "git_timeout";

/** Sections come in the order of the raw records, two for a change of type. */
function assign(
  changes: readonly Change[],
  sections: Section[],
  isCut: boolean,
): Map<string, Section[] | "unread"> {
  const byPath = new Map<string, Section[] | "unread">();
  let at = 0;
  for (const change of changes) {
    const count = change.type === "type_changed" ? 2 : 1;
    const isThere = at + count <= sections.length;
    byPath.set(change.path, isThere || !isCut ? sections.slice(at, at + count) : "unread");
    at += count;
  }
  if (!isCut && at !== sections.length) {
    throw new AppError("git_failed", `git printed ${sections.length} patches for ${changes.length} changes`);
  }
  return byPath;
}

function sidesOf(change: Change, section: Section): Sides & { submodule: boolean } {
  const [, whole, wholeMode] = /^(new|deleted) file mode (\d{6})$/m.exec(section.header) ?? [];
  return {
    from: whole === "new" ? undefined : change.oldOid,
    to: whole === "deleted" ? undefined : change.newOid,
    submodule: (wholeMode ?? change.newMode) === SUBMODULE_MODE,
  };
}
